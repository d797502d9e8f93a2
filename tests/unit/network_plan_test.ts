/** Tests of what a new network namespace is made of. */
import { assertEquals } from "@std/assert";
import { bringUp } from "../../src/sandbox/network_plan.ts";
import { showStep } from "../../src/sandbox/step.ts";

const names = (network: "none" | "blackhole" | "host") => bringUp(network).map(({ name }) => name);

Deno.test("bringUp() brings loopback up, and nothing else", () => {
  assertEquals(names("none"), ["open a socket", "number it", "bring loopback up"]);
  assertEquals(names("host"), names("none"));
});

Deno.test("bringUp() leads all else nowhere for a black hole", () => {
  assertEquals(names("blackhole").slice(3), [
    "give loopback an address",
    "make it the only one of its kind",
    "lead all else nowhere",
  ]);
});

Deno.test("bringUp() is shown as system calls", () => {
  assertEquals(bringUp("blackhole").slice(2).map(showStep), [
    "ioctl(0, SIOCSIFFLAGS, {lo, …})  # bring loopback up",
    "ioctl(0, SIOCSIFADDR, {lo:0, …})  # give loopback an address",
    "ioctl(0, SIOCSIFNETMASK, {lo:0, …})  # make it the only one of its kind",
    "ioctl(0, SIOCADDRT, {default, lo, RTF_UP})  # lead all else nowhere",
  ]);
});
