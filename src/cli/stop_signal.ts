/** SIGINT and SIGTERM as wishes to end: the first in good order, the second at once. */

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Listens until it is disposed of. */
export class StopSignals implements Disposable {
  readonly #first = new AbortController();
  readonly #second = new AbortController();
  readonly #listener = () => {
    if (this.#first.signal.aborted) this.#second.abort();
    this.#first.abort();
  };

  constructor() {
    for (const name of SIGNALS) Deno.addSignalListener(name, this.#listener);
  }

  /** Aborted by the first signal. */
  get first(): AbortSignal {
    return this.#first.signal;
  }

  /** Aborted by the second. */
  get second(): AbortSignal {
    return this.#second.signal;
  }

  [Symbol.dispose](): void {
    for (const name of SIGNALS) Deno.removeSignalListener(name, this.#listener);
  }
}
