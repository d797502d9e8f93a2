/** What was measured, as data. */
import type { Ratio } from "./ratio.ts";
import { toRatio } from "./ratio.ts";
import { type Spread, toSpread } from "./spread.ts";

/** In what it is measured. */
export type Unit = "ms" | "bytes" | "MB/s" | "1/s" | "number";

/** One question, and each system's answer. */
export interface Measure {
  readonly case: string;
  readonly name: string;
  /** How many sandboxes were alive. */
  readonly count: number;
  readonly cache: "warm" | "cold";
  readonly unit: Unit;
  readonly rows: readonly Row[];
}

/** One system's answer. */
export interface Row {
  readonly peer: string;
  readonly samples: readonly number[];
  readonly spread: Spread;
  /** Ours to this one's, so that less than 1 is better; null for ours, and where there is no ours. */
  readonly ratio: Ratio | null;
  /** The mean of each phase of one sandbox, in milliseconds. */
  readonly phases: Readonly<Record<string, number>>;
}

/** A peer that was not measured, or not to the end, and why. */
export interface Skipped {
  readonly peer: string;
  readonly reason: string;
}

/** All of it. */
export interface BenchReport {
  readonly version: string;
  readonly date: string;
  readonly command: string;
  readonly machine: Readonly<Record<string, string | number>>;
  /** Why its times are not to be trusted; empty on an idle machine. */
  readonly warnings: readonly string[];
  readonly peers: readonly {
    readonly name: string;
    readonly what: string;
    readonly version: string | null;
  }[];
  readonly skipped: readonly Skipped[];
  readonly measures: readonly Measure[];
}

/** The name of ours. */
export const OURS = "minisandbox";

/** Samples of one system. */
export interface Samples {
  readonly peer: string;
  readonly samples: readonly number[];
  readonly phases?: Readonly<Record<string, number>>;
}

/** Compares the samples of all systems; those without any are left out. */
export function toMeasure(
  { isMoreBetter = false, ...head }: Omit<Measure, "rows"> & { readonly isMoreBetter?: boolean },
  all: readonly Samples[],
): Measure {
  const measured = all.filter(({ samples }) => samples.length > 0);
  const ours = measured.find(({ peer }) => peer === OURS)?.samples;
  return {
    ...head,
    rows: measured.map(({ peer, samples, phases = {} }) => ({
      peer,
      samples,
      spread: toSpread(samples),
      ratio: ours === undefined || peer === OURS
        ? null
        : isMoreBetter
        ? toRatio(samples, ours)
        : toRatio(ours, samples),
      phases,
    })),
  };
}

/** Gives the mean of each phase. */
export function meanPhases(
  all: readonly Readonly<Record<string, number>>[],
): Record<string, number> {
  const names = [...new Set(all.flatMap(Object.keys))];
  return Object.fromEntries(
    names.map((name) => [name, all.reduce((sum, it) => sum + (it[name] ?? 0), 0) / all.length]),
  );
}
