/** Tests that steps are shown as strace shows calls. */
import { assertEquals } from "@std/assert";
import { AT, IOCTL, MS, O } from "../../ffi/mod.ts";
import {
  bytes,
  fd,
  flags,
  mode,
  named,
  output,
  showCall,
  showStep,
  step,
} from "../../src/sandbox/step.ts";

Deno.test("showCall() shows every kind of argument as strace does", () => {
  assertEquals(
    showCall(step("mount it", "mount", ["proc", "/proc", "proc", flags(MS, MS.MS_NOSUID), null])),
    'mount("proc", "/proc", "proc", MS_NOSUID, NULL)',
  );
  assertEquals(
    showCall(step("open it", "openat", [AT.AT_FDCWD, "/a b", flags(O, O.O_PATH), mode(0o644)])),
    'openat(AT_FDCWD, "/a b", O_PATH, 0644)',
  );
  assertEquals(
    showCall(step("move it", "dup3", [output("tree"), fd("null"), 7])),
    "dup3(<tree>, <null>, 7)",
  );
  assertEquals(
    showCall(step("ask it", "ioctl", [0, named(IOCTL, "TIOCSCTTY"), {
      size: 8,
      fields: [],
      shown: "{lo}",
    }])),
    "ioctl(0, TIOCSCTTY, {lo})",
  );
  assertEquals(
    showCall(step("execute it", "execve", ["/bin/ls", { vector: ["ls", "-l"] }, {
      vector: ["A=1"],
      shown: "[/* 1 variables */]",
    }])),
    'execve("/bin/ls", ["ls", "-l"], [/* 1 variables */])',
  );
  assertEquals(showCall(step("write it", "write", [1, bytes("a\n"), 2])), 'write(1, "a\\n", 2)');
  assertEquals(showCall(step("lead", "setsid", [])), "setsid()");
});

Deno.test("showStep() adds the result's name, what it is for, and whether it may fail", () => {
  assertEquals(
    showStep(step("open it", "setsid", [], { output: "tree" })),
    "setsid() = <tree>  # open it",
  );
  assertEquals(
    showStep(step("make it", "setsid", [], { optional: true })),
    "setsid()  # make it (optional)",
  );
});
