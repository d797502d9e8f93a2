/** Turns of the event loop: what came in meanwhile is heard before work goes on. */

/** Gives turns, until it is disposed of. A timer of no time would take a millisecond. */
export class Turns implements Disposable {
  readonly #channel = new MessageChannel();
  readonly #waiting: (() => void)[] = [];

  constructor() {
    this.#channel.port1.onmessage = () => this.#waiting.shift()?.();
  }

  /** Resolves in the next turn. */
  next(): Promise<void> {
    return new Promise((resume) => {
      this.#waiting.push(resume);
      this.#channel.port2.postMessage(null);
    });
  }

  /** Lets all go on that wait. */
  [Symbol.dispose](): void {
    this.#channel.port1.close();
    this.#channel.port2.close();
    for (const resume of this.#waiting.splice(0)) resume();
  }
}
