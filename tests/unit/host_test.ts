/** Tests of what is read of this host. */
import { assert, assertEquals } from "@std/assert";
import { hasCapability, parseIgnoredSignals, probeHost } from "../../src/sandbox/host.ts";

Deno.test("ignored signals are read from their bits", () => {
  const status = (mask: string) => `Name:\tx\nSigBlk:\t00000000000000ff\nSigIgn:\t${mask}\n`;
  assertEquals(parseIgnoredSignals(status("0000000000001000")), [13]);
  assertEquals(parseIgnoredSignals(status("8000000080010001")), [1, 17, 32, 64]);
  assertEquals(parseIgnoredSignals(status("0000000000000000")), []);
  assertEquals(parseIgnoredSignals(""), []);
});

Deno.test("capabilities are read from their bits", () => {
  const status =
    "CapPrm:\t000001ffffffffff\nCapEff:\t00000000a80425fb\nCapBnd:\t000001ffffffffff\n";
  const all = Array.from({ length: 41 }, (_, i) => i).filter((it) => hasCapability(status, it));
  assertEquals(all, [0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 27, 29, 31]);
  assertEquals(hasCapability("", 0), false);
});

Deno.test("this host's facts are whole", () => {
  const { identity, lastCapability, openFiles, hidden, ignoredSignals } = probeHost();
  assert(identity.uids.length > 0 && identity.gids.length > 0);
  assert(lastCapability >= 37 && lastCapability < 64);
  assert(openFiles.soft > 0 && openFiles.soft <= openFiles.hard);
  assert(hidden.every(({ name }) => Deno.lstatSync(`/proc/${name}`)));
  assert(ignoredSignals.includes(13), "Deno ignores SIGPIPE");
});
