/** How many sandboxes are asked for at a time, by what was asked for so far. */

/** So long the next crowd is expected to be as large as one that was: a trainer's step takes minutes. */
const MEMORY_MS = 600_000;

/**
 * Counts what is taken between two times at which all was ready. A crowd may pause: what it has taken
 * counts until all is ready again. Times are milliseconds of one clock.
 */
export class Crowd {
  #count = 0;
  #isComplete = false;
  /** The largest that was complete not long ago. */
  #usual = { count: 0, ms: -Infinity };

  /** So many were taken. */
  add(count: number, nowMs: number): void {
    if (this.#isComplete) this.#count = 0;
    this.#isComplete = false;
    this.#count += count;
    if (nowMs - this.#usual.ms > MEMORY_MS) this.#usual = { count: 0, ms: -Infinity };
  }

  /** All is ready again: what is taken from here on is another crowd. */
  complete(nowMs: number): void {
    if (this.#isComplete) return;
    this.#isComplete = true;
    if (this.#count >= this.#usual.count) this.#usual = { count: this.#count, ms: nowMs };
  }

  /** How many may be asked for next. */
  get expected(): number {
    return Math.max(this.#count, this.#usual.count);
  }
}
