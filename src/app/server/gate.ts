/** A gate that lets a few through at once, callers in turn: who asks for much delays nobody else. */
import { BusyError } from "../../errors.ts";

interface Waiting {
  readonly enter: () => void;
}

/** Lets at most `width` through at once; at most `queue` wait. */
export class FairGate {
  readonly #width: number;
  readonly #queue: number;
  /** Callers in the order of their turns, each with what it waits for. */
  readonly #callers = new Map<object, Waiting[]>();
  #inside = 0;
  #waiting = 0;

  constructor({ width, queue }: { readonly width: number; readonly queue: number }) {
    this.#width = width;
    this.#queue = queue;
  }

  /** How many wait. */
  get waiting(): number {
    return this.#waiting;
  }

  /**
   * Waits for its turn; whoever is let through disposes of what it gets.
   *
   * @throws {BusyError} If too many wait.
   */
  async enter(caller: object, signal: AbortSignal): Promise<Disposable> {
    signal.throwIfAborted();
    if (this.#inside >= this.#width) {
      if (this.#waiting >= this.#queue) {
        throw new BusyError(`Cannot start more: ${this.#queue} are waiting already`, {
          remedy: "Ask again when some have started, or give serve a larger --queue.",
        });
      }
      await this.#wait(caller, signal);
    } else this.#inside++;
    let isInside = true;
    return {
      [Symbol.dispose]: () => {
        if (isInside) this.#leave();
        isInside = false;
      },
    };
  }

  #wait(caller: object, signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting = {
      enter: () => {
        signal.removeEventListener("abort", give);
        resolve();
      },
    };
    const give = () => {
      this.#remove(caller, waiting);
      reject(signal.reason);
    };
    signal.addEventListener("abort", give, { once: true });
    const own = this.#callers.get(caller);
    if (own === undefined) this.#callers.set(caller, [waiting]);
    else own.push(waiting);
    this.#waiting++;
    return promise;
  }

  /** The place goes to the next caller's first, and that caller to the end. */
  #leave(): void {
    const [next] = this.#callers;
    if (next === undefined) {
      this.#inside--;
      return;
    }
    const [caller, own] = next;
    const first = own.shift()!;
    this.#waiting--;
    this.#callers.delete(caller);
    if (own.length > 0) this.#callers.set(caller, own);
    first.enter();
  }

  #remove(caller: object, waiting: Waiting): void {
    const own = this.#callers.get(caller);
    const at = own?.indexOf(waiting) ?? -1;
    if (own === undefined || at < 0) return;
    own.splice(at, 1);
    this.#waiting--;
    if (own.length === 0) this.#callers.delete(caller);
  }
}
