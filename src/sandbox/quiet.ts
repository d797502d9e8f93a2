/** When nothing may be changed from outside: what is being done is waited for, what comes next waits. */

/** Work that changes things, and moments in which none is done. */
export class Quiet {
  #working = 0;
  #onIdle: (() => void)[] = [];
  #quiet: Promise<void> | null = null;

  /** Does work once it is not quiet. It must not ask for more of it: that could wait for itself. */
  async work<T>(work: () => Promise<T>): Promise<T> {
    while (this.#quiet !== null) await this.#quiet;
    this.#working++;
    try {
      return await work();
    } finally {
      if (--this.#working === 0) { for (const wake of this.#onIdle.splice(0)) wake(); }
    }
  }

  /** Begins a quiet moment when all work is done; only one at a time. Gives what ends it. */
  async begin(): Promise<() => void> {
    while (this.#quiet !== null) await this.#quiet;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#quiet = promise;
    if (this.#working > 0) await new Promise<void>((wake) => this.#onIdle.push(wake));
    return () => {
      this.#quiet = null;
      resolve();
    };
  }
}
