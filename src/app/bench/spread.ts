/** How measured times are spread. */

/** Times in milliseconds. */
export interface Spread {
  readonly median: number;
  readonly p95: number;
  readonly min: number;
  readonly max: number;
}

/** Sums times up; at least one. */
export function toSpread(times: readonly number[]): Spread {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1]!;
  const upper = Math.floor(sorted.length / 2);
  return {
    median: (sorted[upper]! + sorted[sorted.length - 1 - upper]!) / 2,
    p95: at(0.95),
    min: sorted[0]!,
    max: sorted.at(-1)!,
  };
}
