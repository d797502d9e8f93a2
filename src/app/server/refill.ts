/** Keeps namespaces ready for the next sandboxes, made while nothing else is. */
import type { Node } from "../node.ts";

/** How many pairs are kept ready. */
const READY = 16;

/** After so long without a start the server counts as idle. */
const IDLE_MS = 20;

/** Fills the engine's pool, one pair a turn. */
export class Refill implements Disposable {
  readonly #node: Node;
  readonly #isIdle: () => boolean;
  #timer: number | undefined;
  #isOver = false;

  constructor(node: Node, isIdle: () => boolean) {
    this.#node = node;
    this.#isIdle = isIdle;
  }

  /** Looks soon whether there is something to do. */
  wake(): void {
    if (this.#isOver) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#step(), IDLE_MS);
  }

  async #step(): Promise<void> {
    const { engine } = this.#node;
    if (!this.#isIdle() || engine.readyPairs >= READY) return;
    await engine.fill(engine.readyPairs + 1);
    if (!this.#isOver) this.#timer = setTimeout(() => void this.#step());
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }
}
