/** A fixed budget, as the published system has it: so many tokens, in order of asking. */

/** Tokens of a node. */
export class Tokens {
  #free: number;
  readonly #waiting: { readonly count: number; readonly go: () => void }[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  /** Takes some, once they are free. */
  async take(count: number): Promise<Disposable> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push({ count, go: resolve });
    this.#serve();
    await promise;
    return {
      [Symbol.dispose]: () => {
        this.#free += count;
        this.#serve();
      },
    };
  }

  #serve(): void {
    for (let [next] = this.#waiting; next && next.count <= this.#free; [next] = this.#waiting) {
      this.#free -= next.count;
      this.#waiting.shift();
      next.go();
    }
  }
}
