import { assertEquals } from "@std/assert";
import { toSpread } from "../../../demo/crowd.ts";
import { toSize, toTable, toTime } from "../../../demo/report.ts";
import { toTiming } from "../../../demo/sandbox.ts";

Deno.test("toTable() aligns the first cell of a row to the left, the others to the right", () => {
  assertEquals(toTable([["a", "first"], ["longer", "1"]]), [
    "a        first",
    "--------------",
    "longer       1",
  ]);
});

Deno.test("toTime() and toSize() keep about three digits", () => {
  assertEquals([0.04, 9.96, 12.3, 1_234, 12_340].map(toTime), [
    "0.0 ms",
    "10.0 ms",
    "12 ms",
    "1.23 s",
    "12.3 s",
  ]);
  assertEquals([0, 617_000, 101_700_000].map(toSize), ["0 kB", "617 kB", "101.7 MB"]);
});

Deno.test("toSpread() takes the median of an even and an odd number of values", () => {
  assertEquals(toSpread([4, 1, 2, 10]), { median: 3, max: 10 });
  assertEquals(toSpread([3, 1, 2]), { median: 2, max: 3 });
  assertEquals(toSpread([]), { median: 0, max: 0 });
});

Deno.test("toTiming() leaves out the program and what comes after it", () => {
  const phases = { store: 1, unpack: 100, create: 2, start: 3, program: 1_000, close: 50 };
  assertEquals(toTiming(phases), { unpackMs: 100, prepareMs: 6 });
});
