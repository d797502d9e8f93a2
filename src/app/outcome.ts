/** How a command ended, as a value: our own failures are thrown instead. */

/** How a command ended. */
export interface Outcome {
  readonly kind: "exited" | "signaled" | "timedOut";
  /** The exit status, if it exited. */
  readonly code: number | null;
  /** The signal's name, if one ended it. */
  readonly signal: string | null;
}

/** What a run came to. */
export interface RunReport {
  readonly outcome: Outcome;
  /** Milliseconds of each phase, in order. */
  readonly phases: Phases;
  /** Processor time of the command and what it waited for, in milliseconds. */
  readonly cpuMs: number;
  /**
   * The largest resident set among the command's processes, in bytes; null where it stayed below
   * our own, which the kernel counts in (getrusage(2), ru_maxrss).
   */
  readonly peakMemoryBytes: number | null;
}

/** Measures phases that follow one another. */
export class Phases {
  readonly #ms: Record<string, number> = {};
  #start = performance.now();

  /** Ends the phase that has run since the last call; the same name twice adds up. */
  end(name: string): void {
    const now = performance.now();
    this.#ms[name] = (this.#ms[name] ?? 0) + now - this.#start;
    this.#start = now;
  }

  /** The phases so far, rounded to microseconds. */
  toJSON(): Record<string, number> {
    return Object.fromEntries(
      Object.entries(this.#ms).map(([name, ms]) => [name, Math.round(ms * 1e3) / 1e3]),
    );
  }
}
