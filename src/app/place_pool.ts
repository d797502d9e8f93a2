/** What sandboxes need whatever is in them, made before they are asked for. */
import type { Hull, HullWish, Identity } from "../sandbox/mod.ts";
import type { Scratch, Store } from "../store/mod.ts";
import { makeUpper } from "./layout.ts";
import type { Node } from "./node.ts";

/** What it is made for; an upper on disk is a directory of its own, whatever the wish says. */
export interface BerthWish extends HullWish {
  /** Where that directory is made, if not in the store. */
  readonly dir: string | null;
  /** Whether more like it will be asked for: nothing is ready for one of a kind. */
  readonly isUsual: boolean;
  /** How many lowers the whole sandbox has. */
  readonly lowers: number;
}

/** A directory for what a sandbox writes, and its hull; either may be missing. */
export interface Berth extends AsyncDisposable {
  readonly work: Scratch | null;
  readonly hull: Hull | null;
}

/** Those that nobody has taken yet, all in the store. */
export class PlacePool {
  readonly #node: Pick<Node, "store" | "host" | "engine">;
  /** The oldest first, each with what it was made for. */
  readonly #ready: { readonly key: string; readonly berth: Berth }[] = [];
  /** What was asked for last: more are made for the same. */
  #last: BerthWish | null = null;

  constructor(node: Pick<Node, "store" | "host" | "engine">) {
    this.#node = node;
  }

  /** How many are ready for the next sandbox like the last; null as long as there was none. */
  get ready(): number | null {
    if (this.#last === null) return null;
    const key = toKey(this.#last);
    return this.#ready.filter((it) => it.key === key).length;
  }

  /** Gives one that is ready, or a new one without a hull. @throws {HostError} If it cannot be made. */
  async take(wish: BerthWish): Promise<Berth> {
    if (!wish.isUsual || wish.dir !== null) return await this.#open(wish, false);
    this.#last = wish;
    const key = toKey(wish);
    for (;;) {
      const index = this.#ready.findLastIndex((it) => it.key === key);
      if (index < 0) return await this.#open(wish, false);
      const { berth } = this.#ready.splice(index, 1)[0]!;
      if (berth.hull?.isAlive === true && berth.hull.room >= wish.lowers) return berth;
      await berth[Symbol.asyncDispose]();
    }
  }

  /** Makes more until `count` are ready. @throws {MinisandboxError} If one cannot be made. */
  async fill(count: number): Promise<void> {
    const wish = this.#last;
    while (wish !== null && wish === this.#last && this.ready! < count) {
      this.#ready.push({ key: toKey(wish), berth: await this.#open(wish, true) });
    }
  }

  /** Removes the oldest until `count` are left. */
  async keep(count: number): Promise<void> {
    const surplus = this.#ready.splice(0, Math.max(0, this.#ready.length - count));
    await Promise.all(surplus.map(({ berth }) => berth[Symbol.asyncDispose]()));
  }

  /** Removes all. */
  async empty(): Promise<void> {
    await this.keep(0);
  }

  async #open(wish: BerthWish, hasHull: boolean): Promise<Berth> {
    const { store, host: { identity }, engine } = this.#node;
    const { below, upper, dir } = wish;
    const parts = 1 + below.length;
    await using opened = new AsyncDisposableStack();
    const work = upper.kind === "disk"
      ? opened.use(await openUpper(store, dir, { parts, identity }))
      : null;
    const own = work === null ? wish : { ...wish, upper: { kind: "disk", dir: work.dir } as const };
    const hull = hasHull ? await engine.openHull(own, work?.lockFd ?? null) : null;
    opened.defer(() => hull?.close());
    const kept = opened.move();
    return { work, hull, [Symbol.asyncDispose]: () => kept.disposeAsync() };
  }
}

function toKey({ below, upper, network, limits, user }: BerthWish): string {
  const kind = upper.kind === "disk" ? null : upper;
  return JSON.stringify([below, kind, network, limits, user.uid, user.gid]);
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
