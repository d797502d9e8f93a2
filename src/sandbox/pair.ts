/** Pairs of namespaces, user and network, of which each sandbox has one. */
import { closeQuietly, ended, storeAway } from "../../ffi/mod.ts";
import { carryOut, carryOutAside, type Means, type Running, toSetupError } from "./carry_out.ts";
import { killQuietly, reapFirst, reapQuietly } from "./conclude.ts";
import type { Crew } from "./crew.ts";
import { planIdMaps, planPair } from "./holder_plan.ts";
import type { Host } from "./host.ts";
import { mapsRoot, nestedExtents, standingOf, toMapText } from "./identity.ts";
import type { HullWish, ShownUser } from "./layout.ts";
import { DEFAULT_LIMITS, type Limits } from "./limit.ts";
import { sharingFiles } from "./near.ts";
import type { Network } from "./network_plan.ts";
import type { Loan, PlanMemory } from "./plan_memory.ts";
import { shareOf } from "./quota.ts";
import { notReady, openNamespace, Ready } from "./ready.ts";

/** A user and a network namespace for one sandbox, by descriptor. */
export interface Pair extends Disposable {
  readonly user: number;
  readonly net: number;
}

/** What pairs are made with, all of it the engine's. */
export interface PairTools {
  readonly host: Host;
  readonly crew: Crew;
  readonly memory: PlanMemory;
  /** What a plan needs, with more descriptors by name. */
  readonly means: (loan: Loan, fds?: Readonly<Record<string, number>>) => Means;
  /** Whether a cgroup counts the processes of a sandbox with such limits. */
  readonly countsPids: (limits: Limits) => boolean;
}

const ROOT: ShownUser = { uid: 0, gid: 0 };

/** Makes pairs, and keeps some of the usual kind. */
export class Pairs implements Disposable {
  readonly #tools: PairTools;
  readonly #ready: Pair[] = [];
  #count = 0;

  constructor(tools: PairTools) {
    this.#tools = tools;
  }

  /** Makes more of the usual kind until `count` are ready. @throws {SetupError} If one cannot be made. */
  async fill(count: number): Promise<void> {
    const processes = this.#processes(DEFAULT_LIMITS);
    while (this.#ready.length < count) {
      const pair = await this.#make(ROOT, "none", processes);
      // Another may have filled it meanwhile.
      if (this.#ready.length < count) this.#ready.push(pair);
      else pair[Symbol.dispose]();
    }
  }

  /** Gives one, that is the caller's then. @throws {SetupError} If it cannot be made. */
  async take({ user, network, limits }: HullWish): Promise<Pair> {
    const processes = this.#processes(limits);
    const isUsual = mapsRoot(this.#tools.host.identity, user) && network !== "blackhole" &&
      processes === this.#processes(DEFAULT_LIMITS);
    return (isUsual ? this.#ready.pop() : undefined) ?? await this.#make(user, network, processes);
  }

  [Symbol.dispose](): void {
    for (const pair of this.#ready.splice(0)) pair[Symbol.dispose]();
  }

  /** Whether each pair has a user of its own for an owner: the kernel counts a namespace's use to him. */
  get hasOwners(): boolean {
    const { kind } = this.#tools.host.identity;
    return kind === "root" || kind === "subordinate";
  }

  /** How many processes all users of a pair may have: one user is limited without, a cgroup better. */
  #processes(limits: Limits): number | null {
    return !this.hasOwners || this.#tools.countsPids(limits) ? null : limits.pids;
  }

  /** The one id of a user without subordinate ids may be shown as any. */
  async #make(
    { uid, gid }: ShownUser,
    network: Network,
    processes: number | null,
  ): Promise<Pair> {
    const { host: { identity, quotas }, crew, memory, means } = this.#tools;
    const standing = standingOf(identity);
    const limit = this.hasOwners ? { processes, owner: this.#nextOwner() } : null;
    const plan = planPair(standing, network, { limit, quotas: shareOf(quotas) });
    using loan = memory.lend();
    using ready = new Ready();
    const own = sharingFiles(means(loan, { ready: ready.writer }));
    const { isAlone } = crew;
    const keeper = isAlone ? carryOut(plan, own) : carryOutAside(plan, own);
    const { pid, pidfd } = keeper.child;
    try {
      const isReady = isAlone ? ready.await() : await ready.wait(pidfd);
      const refusal = keeper.refusal();
      if (refusal !== null) throw toSetupError(refusal);
      if (!isReady) throw notReady("the keeper of a pair of namespaces");
      if (standing.hasUserNamespace) {
        const uids = toMapText(nestedExtents(identity.uids, uid));
        const gids = toMapText(nestedExtents(identity.gids, gid));
        const maps = planIdMaps(pid, { uids, gids }, standing);
        reapFirst(maps, await crew.carryOut(maps, sharingFiles(means(loan))));
      }
      const user = storeAway(openNamespace(pid, "user"));
      const net = storeAway(openNamespace(pid, "net"));
      return { user, net, [Symbol.dispose]: () => closeQuietly(user, net) };
    } finally {
      await this.#endKeeper(keeper);
    }
  }

  async #endKeeper({ child: { pid, pidfd } }: Running): Promise<void> {
    killQuietly(pid);
    if (!this.#tools.crew.isAlone) await ended(pidfd);
    reapQuietly(pid);
    closeQuietly(pidfd);
  }

  /** Owners are users of the holder, each again only when all have been: the first id is root's. */
  #nextOwner(): number {
    const { inside, count } = this.#tools.host.identity.uids.at(-1)!;
    const first = Math.max(1, inside);
    return first + this.#count++ % (inside + count - first);
  }
}
