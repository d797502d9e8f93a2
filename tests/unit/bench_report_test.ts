/** Tests of how ./dev bench shows what it measured. */
import { assertEquals } from "@std/assert";
import { formatReport } from "../../bench/report.ts";

const SPREAD = { median: 2, p95: 3, min: 1, max: 4 };

Deno.test("a report is tables of markdown, with ratios to a baseline where there is one", () => {
  const rows = [
    { name: "ours", what: "all", ...SPREAD },
    { name: "peer", what: "less", ...SPREAD, median: 1 },
  ];
  const text = formatReport({
    machine: { kernel: "6.1", processors: 2 },
    cases: [{ name: "ms", rows, baseline: "peer" }, { name: "ms", rows, baseline: null }],
    skipped: [{ name: "bwrap", reason: "not installed" }],
  });
  assertEquals(text.split("\n"), [
    "kernel 6.1, processors 2",
    "",
    "| ms   | median |  min |  max | to peer | what it does |",
    "|------|-------:|-----:|-----:|--------:|--------------|",
    "| ours |   2.00 | 1.00 | 4.00 |   2.00x | all          |",
    "| peer |   1.00 | 1.00 | 4.00 |   1.00x | less         |",
    "",
    "| ms   | median |  p95 |  min |  max |",
    "|------|-------:|-----:|-----:|-----:|",
    "| ours |   2.00 | 3.00 | 1.00 | 4.00 |",
    "| peer |   1.00 | 3.00 | 1.00 | 4.00 |",
    "",
    "skipped: bwrap: not installed",
  ]);
});
