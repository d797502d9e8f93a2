/** Keeps namespaces and directories ready for the next sandboxes, made while nothing else is. */
import type { Node } from "../node.ts";

/** For so many sandboxes all is kept ready at least, and at most. */
const LEAST = 16;
const MOST = 256;

/** After so long without a start the server counts as idle. */
const IDLE_MS = 20;

/**
 * Fills the pools, for one sandbox a turn: with as many as the last crowd took, since a trainer asks for
 * the next one of that size.
 */
export class Refill implements AsyncDisposable {
  readonly #node: Node;
  readonly #isIdle: () => boolean;
  #timer: number | undefined;
  /** How many were made since the pool was full. */
  #crowd = 0;
  #isFull = false;
  #onFull = Promise.withResolvers<void>();
  #running = Promise.resolve();
  #isOver = false;

  constructor(node: Node, isIdle: () => boolean) {
    this.#node = node;
    this.#isIdle = isIdle;
  }

  /** Looks soon whether there is something to do: a sandbox was made. */
  wake(): void {
    if (this.#isOver) return;
    this.#crowd = this.#isFull ? 1 : this.#crowd + 1;
    if (this.#isFull) this.#onFull = Promise.withResolvers();
    this.#isFull = false;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#begin(), IDLE_MS);
  }

  /** For how many all is ready. */
  get ready(): number {
    const { engine, uppers } = this.#node;
    return Math.min(engine.readyPairs, uppers.ready ?? Infinity);
  }

  /** For how many it is to be. */
  get wanted(): number {
    return Math.min(Math.max(this.#crowd, LEAST), MOST);
  }

  /** Resolves once the pool is as it is kept. */
  get full(): Promise<void> {
    return this.#onFull.promise;
  }

  async #step(): Promise<void> {
    const { engine, uppers } = this.#node;
    if (!this.#isIdle()) return;
    const { ready, wanted } = this;
    this.#isFull = ready >= wanted;
    if (this.#isFull) return this.#onFull.resolve();
    try {
      await engine.fill(ready + 1);
      await uppers.fill(ready + 1);
    } catch {
      return this.#onFull.resolve(); // whoever asks for the next sandbox hears why
    }
    if (!this.#isOver) this.#timer = setTimeout(() => this.#begin());
  }

  #begin(): void {
    this.#running = this.#step();
  }

  /** Makes no more; what is being made is ready by then. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    clearTimeout(this.#timer);
    await this.#running;
  }
}
