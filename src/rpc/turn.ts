/** Turns of the event loop: a peer that sends without end does not keep the others waiting. */

/** One connection works no longer than this while others, and timers, wait. */
const SLICE_MS = 5;

/** Knows how long the event loop has not turned. */
export class Turn implements Disposable {
  #timer: number | undefined;
  #startedMs = 0;
  #turned = Promise.withResolvers<void>();

  /** Lets the event loop turn, if it has not for a while. */
  async pass(): Promise<void> {
    if (this.#timer === undefined) this.#begin();
    else if (performance.now() - this.#startedMs > SLICE_MS) await this.#turned.promise;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#turned.resolve();
  }

  /** The timer fires with the next turn, whoever brings it about. */
  #begin(): void {
    const turned = this.#turned = Promise.withResolvers();
    this.#startedMs = performance.now();
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      turned.resolve();
    }, 0);
  }
}
