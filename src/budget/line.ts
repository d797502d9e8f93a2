/** First come, first served, within one process. */

/** A line in which one is served at a time. */
export class Line {
  #last: Promise<void> = Promise.resolve();
  #length = 0;

  /** How many stand in it, the one that is served included. */
  get length(): number {
    return this.#length;
  }

  /**
   * Waits to be served, until what is returned is disposed of.
   *
   * @throws The signal's reason, if it is aborted; those behind move up.
   */
  async enter(signal?: AbortSignal): Promise<Disposable> {
    const before = this.#last;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#last = promise;
    this.#length++;
    try {
      await unlessAborted(before, signal);
    } catch (error) {
      this.#length--;
      void before.then(resolve);
      throw error;
    }
    let isServed = false;
    return {
      [Symbol.dispose]: () => {
        if (!isServed) this.#length--;
        isServed = true;
        resolve();
      },
    };
  }
}

/** Waits for a promise that is never rejected. @throws The signal's reason. */
export async function unlessAborted(promise: Promise<void>, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal?.reason);
  signal?.addEventListener("abort", onAbort);
  try {
    await Promise.race([promise, aborted]);
  } finally {
    signal?.removeEventListener("abort", onAbort);
  }
}
