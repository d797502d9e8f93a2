/** Directories for what sandboxes write, made before they are asked for. */
import type { Scratch, Store } from "../store/mod.ts";
import type { Identity } from "../sandbox/mod.ts";
import { makeUpper } from "./layout.ts";

/** Those that nobody has taken yet; all in the store. */
export class UpperPool {
  readonly #store: Store;
  readonly #identity: Identity;
  readonly #ready: Scratch[] = [];
  /** Of how many parts they are: as many as the last one that was asked for. */
  #parts: number | null = null;

  constructor(store: Store, identity: Identity) {
    this.#store = store;
    this.#identity = identity;
  }

  /** How many are ready; null as long as it is not known of how many parts. */
  get ready(): number | null {
    return this.#parts === null ? null : this.#ready.length;
  }

  /** Gives one of so many parts: one that is ready, or a new one. @throws {HostError} If none can be. */
  async take(parts: number): Promise<Scratch> {
    if (parts !== this.#parts) await this.empty();
    this.#parts = parts;
    return this.#ready.pop() ?? await this.#open(parts);
  }

  /** Makes more until `count` are ready. @throws {HostError} If one cannot be made. */
  async fill(count: number): Promise<void> {
    const parts = this.#parts;
    while (parts !== null && parts === this.#parts && this.#ready.length < count) {
      this.#ready.push(await this.#open(parts));
    }
  }

  /** Removes all beyond the first `count`. */
  async keep(count: number): Promise<void> {
    await Promise.all(this.#ready.splice(count).map((it) => it[Symbol.asyncDispose]()));
  }

  /** Removes those that are ready. */
  async empty(): Promise<void> {
    await this.keep(0);
  }

  #open(parts: number): Promise<Scratch> {
    return openUpper(this.#store, null, { parts, identity: this.#identity });
  }
}

/**
 * Makes the directory of a run, with those that overlays write to.
 *
 * @param parent Where, if not in the store.
 * @throws {HostError} If it cannot be made, or overlayfs could not use it.
 */
export async function openUpper(
  store: Store,
  parent: string | null,
  { parts, identity }: { readonly parts: number; readonly identity: Identity },
): Promise<Scratch> {
  await using opened = new AsyncDisposableStack();
  const work = opened.use(await store.openRun(parent));
  makeUpper(work.dir, parts, identity);
  opened.move();
  return work;
}
