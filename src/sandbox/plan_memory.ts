/** Memory that plans are written to, used again and again: to map it anew costs as much as to write it. */
import { Memory } from "../../ffi/mod.ts";

/** Enough for the table of any plan but one with large arguments. */
const USUAL_BYTES = 128 * 1024;

/** So many pieces are kept. */
const KEPT = 16;

/** A piece, until it is disposed of: whatever was begun with it has executed or ended by then. */
export interface Loan extends Disposable {
  readonly memory: Memory;
}

/** The pieces that nobody uses. */
export class PlanMemory implements Disposable {
  readonly #free: Memory[] = [];

  /** Lends a piece of at least this size, in bytes. */
  lend(bytes = USUAL_BYTES): Loan {
    const isUsual = bytes <= USUAL_BYTES;
    const memory = (isUsual ? this.#free.pop() : undefined) ??
      new Memory(Math.max(bytes, USUAL_BYTES));
    return {
      memory,
      [Symbol.dispose]: () => {
        memory.clear();
        if (isUsual && this.#free.length < KEPT) this.#free.push(memory);
        else memory[Symbol.dispose]();
      },
    };
  }

  [Symbol.dispose](): void {
    for (const memory of this.#free.splice(0)) memory[Symbol.dispose]();
  }
}
