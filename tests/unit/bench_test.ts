/** Tests of how times are summed up and shown. */
import { assertEquals } from "@std/assert";
import { toSpread } from "../../src/app/bench/spread.ts";
import { formatReport } from "../../src/cli/bench/engine.ts";

Deno.test("a spread is the median, the 95th percentile and the ends", () => {
  assertEquals(toSpread([7]), { median: 7, p95: 7, min: 7, max: 7 });
  assertEquals(toSpread([4, 1, 3, 2]), { median: 2.5, p95: 4, min: 1, max: 4 });
  const hundred = Array.from({ length: 100 }, (_, i) => 100 - i);
  assertEquals(toSpread(hundred), { median: 50.5, p95: 95, min: 1, max: 100 });
});

Deno.test("a report is a table with a row a phase", () => {
  const spread = { median: 1.5, p95: 2, min: 1, max: 3 };
  const rows = { upper: spread, "to first output": spread };
  const text = formatReport({ count: 4, atOnce: 2, once: { holder: 3.14 }, rows, totalMs: 10 });
  assertEquals(text.split("\n"), [
    "once, before the first: holder 3.1 ms",
    "ms a sandbox                median       p95       min       max",
    "upper                        1.500     2.000     1.000     3.000",
    "to first output              1.500     2.000     1.000     3.000",
    "4 sandboxes, 2 at once: 10 ms, 2.50 ms each",
  ]);
});
