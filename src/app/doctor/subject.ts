/** What is examined: this host, with a store and an engine that are opened when first asked for. */
import { Engine, type Host, probeHost } from "../../sandbox/mod.ts";
import { Store, storeLocation } from "../../store/mod.ts";

/** What the caller wants to know about. */
export interface Wish {
  readonly storeDir: string | undefined;
  /** Where what sandboxes write would be kept; undefined for in the store. */
  readonly upperDir: string | undefined;
  /** How many sandboxes are wanted at once. */
  readonly sandboxes: number;
}

/** A host under examination. */
export class Subject implements Disposable {
  readonly wish: Wish;
  readonly storeDir: string;
  readonly host: Host;
  readonly #engine: () => Engine;
  readonly #store: () => Store;
  #opened: Engine | undefined;

  constructor(wish: Wish) {
    this.wish = wish;
    this.host = probeHost();
    this.storeDir = wish.storeDir ?? storeLocation(Deno.env.toObject(), this.host.uid);
    this.#engine = once(() => this.#opened = Engine.open(this.host));
    this.#store = once(() => Store.open(this.storeDir));
  }

  /** @throws {MinisandboxError} The same each time, if it cannot be started. */
  get engine(): Engine {
    return this.#engine();
  }

  /** @throws {HostError} The same each time, if it cannot be opened. */
  get store(): Store {
    return this.#store();
  }

  /** Whether the engine can be started. */
  get hasHolder(): boolean {
    try {
      this.#engine();
      return true;
    } catch {
      return false;
    }
  }

  /** What keeps small sandboxes from being built; null if nothing does. */
  get obstacle(): string | null {
    if (!this.hasHolder) return "there is no holder";
    try {
      this.#store();
      return null;
    } catch {
      return "there is no store";
    }
  }

  /** Ends the engine, if it was started. */
  [Symbol.dispose](): void {
    this.#opened?.[Symbol.dispose]();
  }
}

/** Calls a function once and repeats what it gave or threw. */
function once<T>(make: () => T): () => T {
  let result: { readonly value: T } | { readonly error: unknown } | undefined;
  return () => {
    if (result === undefined) {
      try {
        result = { value: make() };
      } catch (error) {
        result = { error };
      }
    }
    if ("error" in result) throw result.error;
    return result.value;
  };
}
