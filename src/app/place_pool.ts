/** What sandboxes need whatever is in them, made before they are asked for. */
import { countLowers, type Hull, type Layout, type ShownUser, toHullWish } from "../sandbox/mod.ts";
import type { Scratch } from "../store/mod.ts";
import { makeUpper, onDisk } from "./layout.ts";
import type { Node } from "./node.ts";

/** What it is made for. */
export interface BerthWish {
  /** Of a sandbox; an upper on disk is a directory of its own, whatever this says. */
  readonly layout: Layout;
  readonly user: ShownUser;
  /** Where that directory is made, if not in the store. */
  readonly dir: string | null;
  /** Whether more like it will be asked for: nothing is ready for one of a kind. */
  readonly isUsual: boolean;
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
  #last: { readonly key: string; readonly wish: BerthWish } | null = null;

  constructor(node: Pick<Node, "store" | "host" | "engine">) {
    this.#node = node;
  }

  /** How many are ready for the next sandbox like the last; null as long as there was none. */
  get ready(): number | null {
    if (this.#last === null) return null;
    const { key } = this.#last;
    return this.#ready.filter((it) => it.key === key).length;
  }

  /** Gives one that is ready, or a new one without a hull. @throws {HostError} If it cannot be made. */
  async take(wish: BerthWish): Promise<Berth> {
    if (!wish.isUsual || wish.dir !== null) return await this.#open(wish, false);
    const key = toKey(wish);
    this.#last = { key, wish };
    const lowers = countLowers(wish.layout.parts);
    for (;;) {
      const index = this.#ready.findLastIndex((it) => it.key === key);
      if (index < 0) return await this.#open(wish, false);
      const { berth } = this.#ready.splice(index, 1)[0]!;
      if (berth.hull?.isAlive === true && berth.hull.room >= lowers) return berth;
      await berth[Symbol.asyncDispose]();
    }
  }

  /** Makes more until `count` are ready. @throws {MinisandboxError} If one cannot be made. */
  async fill(count: number): Promise<void> {
    const last = this.#last;
    while (last !== null && last === this.#last && this.ready! < count) {
      this.#ready.push({ key: last.key, berth: await this.#open(last.wish, true) });
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

  async #open({ layout, user, dir }: BerthWish, hasHull: boolean): Promise<Berth> {
    await using opened = new AsyncDisposableStack();
    const work = layout.upper.kind === "disk"
      ? opened.use(await this.#openUpper(dir, layout.parts.length))
      : null;
    const wish = toHullWish(work === null ? layout : onDisk(layout, work.dir), user);
    const hull = hasHull ? await this.#node.engine.openHull(wish, work?.lockFd ?? null) : null;
    opened.defer(() => hull?.close());
    const kept = opened.move();
    return { work, hull, [Symbol.asyncDispose]: () => kept.disposeAsync() };
  }

  /** Makes the directory of a run, with those that overlays write to. */
  async #openUpper(parent: string | null, parts: number): Promise<Scratch> {
    const { store, host: { identity } } = this.#node;
    await using opened = new AsyncDisposableStack();
    const work = opened.use(await store.openRun(parent));
    makeUpper(work.dir, parts, identity);
    opened.move();
    return work;
  }
}

function toKey({ layout, user: { uid, gid } }: BerthWish): string {
  const { upper, parts, network, limits } = layout;
  const kind = upper.kind === "disk" ? null : upper;
  return JSON.stringify([parts.slice(1), kind, network, limits, uid, gid]);
}
