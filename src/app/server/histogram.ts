/** Counts of durations in ranges, as Prometheus has them. */

/** The upper ends of the ranges, in milliseconds; above the last there is one more. */
export const BOUNDS_MS = [0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000, 30_000] as const;

/** A histogram as data. */
export interface HistogramState {
  readonly count: number;
  readonly sumMs: number;
  readonly maxMs: number;
  /** How many were at most as long as the bound of the same place in `boundsMs`. */
  readonly atMost: readonly number[];
  readonly boundsMs: readonly number[];
}

/** Counts durations. */
export class Histogram {
  readonly #atMost = BOUNDS_MS.map(() => 0);
  #count = 0;
  #sumMs = 0;
  #maxMs = 0;

  /** Counts one. */
  add(ms: number): void {
    this.#count++;
    this.#sumMs += ms;
    this.#maxMs = Math.max(this.#maxMs, ms);
    for (let i = BOUNDS_MS.length - 1; i >= 0 && ms <= BOUNDS_MS[i]!; i--) this.#atMost[i]!++;
  }

  /** What was counted. */
  state(): HistogramState {
    return {
      count: this.#count,
      sumMs: this.#sumMs,
      maxMs: this.#maxMs,
      atMost: [...this.#atMost],
      boundsMs: BOUNDS_MS,
    };
  }
}
