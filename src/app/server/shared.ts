/** What sandboxes of one spec share, prepared once for all that are made within a short time. */
import { abortable } from "@std/async/abortable";
import type { LayerEvent } from "../layer.ts";
import { isBaseName } from "../named_base.ts";
import type { Node } from "../node.ts";
import { Phases } from "../outcome.ts";
import { prepare, type Prepared } from "../prepare.ts";
import type { SandboxSpec } from "../spec.ts";
import { findUser } from "../user.ts";

/** After so long the store and the host are looked at again. */
const FRESH_MS = 30_000;

/** Hears how layers are made. */
export type OnLayer = (event: LayerEvent) => void;

/** Prepared bases and layers, each held while something uses it. */
export class SharedPreparations implements Disposable {
  readonly #node: Node;
  readonly #known = new Map<string, Preparation>();

  constructor(node: Node) {
    this.#node = node;
  }

  /**
   * Gives what the spec's sandbox is made of, to be disposed of.
   *
   * @throws {MinisandboxError} If it cannot be had.
   */
  async acquire(
    spec: SandboxSpec,
    options: { readonly signal: AbortSignal; readonly onLayer?: OnLayer },
  ): Promise<Prepared> {
    const preparation = this.#find(spec);
    const prepared = await preparation.use(options);
    try {
      const user = findUser(prepared.base.users, spec.user, this.#node.host);
      return { ...prepared, user };
    } catch (error) {
      prepared[Symbol.dispose]();
      throw error;
    }
  }

  #find(spec: SandboxSpec): Preparation {
    const key = this.#keyOf(spec);
    const known = this.#known.get(key);
    if (known?.isFresh) return known;
    const made = new Preparation(this.#node, spec);
    this.#known.set(key, made);
    const forget = () => {
      if (this.#known.get(key) === made) this.#known.delete(key);
    };
    made.stale.then(forget);
    return made;
  }

  /** Archives and names are told apart by what they are now. */
  #keyOf({ base, hostname, network, from, layers }: SandboxSpec): string {
    const { names } = this.#node.store;
    const kept = from.map((place) =>
      place.includes("/") ? stateOf(place) : names.read("snapshot", place)
    );
    const archives = layers.map(({ archive }) => archive === undefined ? null : stateOf(archive));
    const named = isBaseName(base) ? names.read("base", base) : null;
    return JSON.stringify([base, named, hostname, network, from, kept, layers, archives]);
  }

  /** Lets go of what nothing uses; the rest goes with its last user. */
  [Symbol.dispose](): void {
    for (const preparation of this.#known.values()) preparation.expire();
  }
}

/** One preparation, and who waits for it or uses it. */
class Preparation {
  readonly #prepared: Promise<Prepared>;
  readonly #stop = new AbortController();
  readonly #listeners = new Set<OnLayer>();
  readonly #stale = Promise.withResolvers<void>();
  readonly #timer: number;
  #users = 0;
  #isDone = false;
  #isFresh = true;

  constructor(node: Node, spec: SandboxSpec) {
    this.#prepared = prepare(node, spec, {
      phases: new Phases(),
      signal: this.#stop.signal,
      onLayer: (event) => this.#listeners.forEach((listener) => listener(event)),
    });
    this.#prepared.then(() => this.#isDone = true, () => this.expire());
    this.#timer = setTimeout(() => this.expire(), FRESH_MS);
    Deno.unrefTimer(this.#timer);
  }

  get isFresh(): boolean {
    return this.#isFresh;
  }

  /** Resolves when it is not for new sandboxes any more. */
  get stale(): Promise<void> {
    return this.#stale.promise;
  }

  /** Gives it to one more user; it is given up when nobody waits for it any more. */
  async use(
    { signal, onLayer }: { readonly signal: AbortSignal; readonly onLayer?: OnLayer },
  ): Promise<Prepared> {
    this.#users++;
    if (onLayer !== undefined) this.#listeners.add(onLayer);
    try {
      const prepared = await abortable(this.#prepared, signal);
      let isHeld = true;
      return {
        ...prepared,
        [Symbol.dispose]: () => {
          if (isHeld) this.#release();
          isHeld = false;
        },
      };
    } catch (error) {
      this.#release();
      throw error;
    } finally {
      if (onLayer !== undefined) this.#listeners.delete(onLayer);
    }
  }

  /** No new sandbox is made of it. */
  expire(): void {
    if (!this.#isFresh) return;
    this.#isFresh = false;
    clearTimeout(this.#timer);
    this.#stale.resolve();
    this.#letGo();
  }

  #release(): void {
    this.#users--;
    if (this.#users === 0 && !this.#isDone) {
      this.#stop.abort();
      this.expire();
    }
    this.#letGo();
  }

  #letGo(): void {
    if (this.#users > 0 || this.#isFresh) return;
    this.#prepared.then((prepared) => prepared[Symbol.dispose](), () => {}); // or it holds nothing
  }
}

/** What a file is now; null if it is not there, which is told when it is used. */
function stateOf(path: string): unknown {
  try {
    const { dev, ino, size, mtime, ctime } = Deno.statSync(path);
    return [dev, ino, size, mtime, ctime];
  } catch {
    return null;
  }
}
