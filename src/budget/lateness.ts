/** How late a task of this machine wakes: what a running sandbox notices when there is too much to do. */

/** Collects how late timers are. */
export class Lateness {
  #sumMs = 0;
  #count = 0;

  /** Takes one. */
  note(ms: number): void {
    this.#sumMs += Math.max(0, ms);
    this.#count++;
  }

  /** Gives the mean of those since the last time; null if there were none. */
  take(): number | null {
    const mean = this.#count === 0 ? null : this.#sumMs / this.#count;
    this.#sumMs = 0;
    this.#count = 0;
    return mean;
  }
}
