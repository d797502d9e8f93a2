/** A report of a bench that nobody ran. */
import { type BenchReport, toMeasure } from "../../src/app/bench/measure.ts";

/** Gives one with each kind of measure, and text that a page must escape. */
export function benchReport(): BenchReport {
  const counts = [1, 16, 256];
  const phases = { create: 1, "git status": 2 };
  return {
    version: "0.0.1",
    date: "2026-01-02T03:04:05Z",
    command: "minisandbox bench prepare --scratch '/<script>&'",
    machine: { processors: 2, kernel: "6.1 <b>" },
    warnings: ["busy machine: others used 50%"],
    peers: [
      { name: "minisandbox", what: "all of it", version: "0.0.1" },
      { name: "bare", what: "nothing", version: null },
    ],
    skipped: [{ peer: "crun", reason: "not installed" }],
    measures: [
      ...counts.flatMap((count) =>
        ["all of them", "each of them"].map((name) =>
          toMeasure({ case: "prepare", name, count, cache: "warm", unit: "ms" }, [
            { peer: "minisandbox", samples: [count * 10, count * 11, count * 9], phases },
            { peer: "bare", samples: [count * 20, count * 25], phases },
          ])
        )
      ),
      toMeasure({ case: "process", name: "true", count: 1, cache: "warm", unit: "ms" }, [
        { peer: "minisandbox", samples: [2, 2, 2] },
        { peer: "bare", samples: [1, 1, 1] },
      ]),
      toMeasure({ case: "memory", name: "set", count: 16, cache: "warm", unit: "bytes" }, [
        { peer: "minisandbox", samples: [850_000] },
      ]),
    ],
  };
}
