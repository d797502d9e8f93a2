/** How a command ended, as a value: our own failures are thrown instead. */

/** A limit that was reached. */
export type Reached =
  | "outOfMemory"
  | "pidsLimit"
  | "diskFull"
  | "tmpFull"
  | "shmFull"
  | "outputLimit"
  | "cpuTimeLimit"
  | "fileSizeLimit";

/** How a command ended. */
export interface Outcome {
  /** A limit stands here if it is what ended the command. */
  readonly kind:
    | "exited"
    | "signaled"
    | "timedOut"
    | "noOutput"
    | "cancelled"
    | "outOfMemory"
    | "outputLimit"
    | "cpuTimeLimit"
    | "fileSizeLimit";
  /** The exit status, if it exited. */
  readonly code: number | null;
  /** The signal's name, if one ended it. */
  readonly signal: string | null;
  /** Every limit that was reached, whether or not the command could go on. */
  readonly reached: readonly Reached[];
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
