/** This node: its host's facts, its store and its engine, each made when first needed. */
import { Engine, type Host, probeHost, toMapText } from "../sandbox/mod.ts";
import { type BudgetMode, IoBudget } from "../budget/mod.ts";
import { type RemoveTree, Store, storeLocation } from "../store/mod.ts";
import { type Ground, storedTrees } from "./base.ts";
import { Worker } from "./confined.ts";
import type { ArchivePolicy, Unpack } from "./layer.ts";
import { PlacePool } from "./place_pool.ts";

export type { BudgetMode };

/** What the caller decides. */
export interface NodeOptions {
  readonly ioBudget?: BudgetMode;
  /** What is taken from archives; all that is within the usual limits, if it is not said. */
  readonly archives?: ArchivePolicy;
  /** False for root on a host without user namespaces. */
  readonly usesUserNamespace?: boolean;
}

/** What sandboxes are made with; it ends with all of them. */
export class Node implements Disposable {
  readonly host: Host;
  readonly store: Store;
  readonly ground: Ground;
  /** What may be unpacked at once, by all processes that use this store. */
  readonly budget: IoBudget;
  /** What sandboxes need, made in advance. */
  readonly places = new PlacePool(this);
  /** Does what must be confined, or done with mapped ids. */
  readonly worker: Worker;
  /** Whether files of layers keep their setuid and setgid bits. */
  readonly setuid: ArchivePolicy["setuid"];
  #engine: Engine | undefined;

  /**
   * Opens the store that the caller names, or the one of this user.
   *
   * @throws {HostError} If it cannot be made.
   */
  constructor(storeDir?: string, options: NodeOptions = {}) {
    this.host = probeHost({ usesUserNamespace: options.usesUserNamespace ?? true });
    const dir = storeDir ?? storeLocation(Deno.env.toObject(), this.host.uid);
    this.store = Store.open(dir, { remove: (tree) => this.worker.remove(tree) });
    this.budget = new IoBudget(`${dir}/budget`, { mode: options.ioBudget ?? { kind: "auto" } });
    this.ground = {
      host: this.host,
      trees: storedTrees(this.store, this.host),
      mapsIds: (path) => this.engine.canMapIds(path),
    };
    const { setuid = "keep", limits = {} } = options.archives ?? {};
    this.setuid = setuid;
    this.worker = new Worker(this.ground, () => this.engine, limits);
  }

  /** Which ids layers are unpacked for: layers of other ids are others. */
  get idmap(): string {
    const { uids, gids } = this.host.identity;
    return `${toMapText(uids)}${toMapText(gids)}`;
  }

  /**
   * Gives the engine; the first call starts its holder.
   *
   * @throws {HostError | SetupError} If this host refuses.
   */
  get engine(): Engine {
    this.#engine ??= Engine.open(this.host);
    return this.#engine;
  }

  /** Starts the engine, if it was not. */
  startEngine(): void {
    this.engine;
  }

  /** Unpacks archives, confined to the layer. */
  readonly unpack: Unpack = (job) => this.worker.unpack(job);

  /** Removes a tree, whoever owns what is in it. */
  readonly remove: RemoveTree = (dir) => this.worker.remove(dir);

  /** Ends the engine, if it was started. */
  [Symbol.dispose](): void {
    this.store[Symbol.dispose]();
    this.#engine?.[Symbol.dispose]();
    this.#engine = undefined;
  }
}
