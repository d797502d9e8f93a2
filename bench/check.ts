/** Compares a report with ratios that were recorded: what has become slower against its peers. */
import type { BenchReport } from "../src/app/bench/measure.ts";
import { titleOf } from "../src/cli/bench/table.ts";

/** Ours to each peer's, by the measure and the peer. */
export type Ratios = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** A ratio this many times the recorded one is a failure. */
export const TOLERANCE = 1.3;

/** Takes the ratios of a report. */
export function toRatios({ measures }: BenchReport): Ratios {
  return Object.fromEntries(measures.map((measure) => [
    titleOf(measure),
    Object.fromEntries(
      measure.rows.flatMap(({ peer, ratio }) =>
        ratio === null || !Number.isFinite(ratio.value) ? [] : [[peer, ratio.value]]
      ),
    ),
  ]));
}

/** Says what is slower than was recorded; what was recorded and not measured counts too. */
export function findSlower(recorded: Ratios, measured: Ratios): string[] {
  return Object.entries(recorded).flatMap(([name, peers]) =>
    Object.entries(peers).flatMap(([peer, before]) => {
      const now = measured[name]?.[peer];
      if (now === undefined) return [`${name}: ${peer} was not measured`];
      if (now <= TOLERANCE * before) return [];
      return [`${name}: ${now.toFixed(3)}x of ${peer}, recorded ${before.toFixed(3)}x`];
    })
  );
}
