/** The engine: the holder and what is prepared below it once, and the making of sandboxes. */
import {
  awaitReadable,
  CLONE,
  closeQuietly,
  ended,
  forget,
  isErrno,
  joinSessionKeyring,
  kill,
  O,
  openAt,
  pipe,
  PR,
  prctl,
  readable,
  resetSignal,
  SIGNAL,
  socketPair,
  storeAway,
  wait,
} from "../../ffi/mod.ts";

import { GoneError, SetupError } from "../errors.ts";
import { carryOut, carryOutAside, type Means, type Running, toSetupError } from "./carry_out.ts";
import { Cgroup } from "./cgroup/group.ts";
import type { Controller } from "./cgroup/hierarchy.ts";
import { CgroupParent } from "./cgroup/parent.ts";
import { neededControllers } from "./cgroup/setting.ts";
import { Crew } from "./crew.ts";
import {
  MAX_LOWERS,
  PIVOT,
  planHolder,
  planIdMaps,
  planNamespaces,
  planPair,
  type Template,
  USUAL_TEMPLATE,
} from "./holder_plan.ts";
import { type Host, raiseOpenFiles } from "./host.ts";
import { nestedExtents, type Standing, standingOf, toMapText } from "./identity.ts";
import { planFacts } from "./facts.ts";
import { DEFAULT_LIMITS, type Limits } from "./limit.ts";
import type { Network } from "./network_plan.ts";
import { Hull } from "./hull.ts";
import { planHull } from "./hull_plan.ts";
import type { HullWish, Layout, ShownUser } from "./layout.ts";
import { writeHolderMaps } from "./map.ts";
import { CWD } from "./process_step.ts";
import { type Loan, PlanMemory } from "./plan_memory.ts";
import { Near, sharingFiles } from "./near.ts";
import { openProgram } from "./program_file.ts";
import { noUserNamespace } from "./remedy.ts";
import { Sandbox } from "./sandbox.ts";
import { mountsOf, planFurnishing, planIdMapping, planSandbox } from "./sandbox_plan.ts";
import { halfOf, shareOf, underHalf } from "./quota.ts";
import type { Plan } from "./step.ts";
import { countLowers } from "./tree_plan.ts";

/** A user and a network namespace for one sandbox, by descriptor. */
export interface Pair extends Disposable {
  readonly user: number;
  readonly net: number;
}

const ROOT: ShownUser = { uid: 0, gid: 0 };

/** How long a process of ours may take to start. */
const READY_MS = 10_000;

/** Makes sandboxes. Everything it made ends with it, and with this process. */
export class Engine implements Disposable {
  readonly host: Host;
  /** Who carries out plans. */
  readonly crew = new Crew();
  /** What they are written to. */
  readonly memory = new PlanMemory();
  #fds: Record<string, number> = {};
  /** Descriptors that have been replaced, but may stand in a plan still. */
  readonly #replaced: number[] = [];
  readonly #pairs: Pair[] = [];
  #template = USUAL_TEMPLATE;
  #cgroups: CgroupParent | undefined;
  #pairCount = 0;
  /** Trees that were asked about, by their paths. */
  readonly #mapping = new Map<string, boolean>();
  #holderPid = 0;

  /**
   * Starts the holder and prepares its namespaces.
   *
   * @throws {HostError} If this host has no user namespaces for us.
   * @throws {SetupError} If a step is refused.
   */
  static open(host: Host): Engine {
    const engine = new Engine(host);
    try {
      engine.#start();
      return engine;
    } catch (error) {
      engine[Symbol.dispose]();
      throw error;
    }
  }

  private constructor(host: Host) {
    this.host = host;
  }

  #start(): void {
    const fds = this.#fds;
    raiseOpenFiles(this.host);
    // A parent may have left us to ignore it, and nothing that we wait for would wait for us.
    if (this.host.ignoredSignals.includes(SIGNAL.SIGCHLD)) resetSignal(SIGNAL.SIGCHLD);
    prctl(PR.PR_SET_DUMPABLE, 0);
    leaveKeyring();
    fds["init"] = openProgram("init");
    fds["null"] = openAt(CWD, "/dev/null", O.O_RDWR | O.O_CLOEXEC);
    // A pair of sockets and not a pipe: what init reads cannot be opened for writing from inside.
    const alive = socketPair();
    fds["alive"] = alive.reader;
    fds["owner"] = alive.writer;

    this.#startHolder();
    this.#makeTemplate(USUAL_TEMPLATE);
  }

  /** Prepares the mount namespaces that sandboxes come from. */
  #makeTemplate(wanted: Omit<Template, "quotas">): void {
    using loan = this.memory.lend();
    const means = { ...this.#means(loan), flags: CLONE.CLONE_FILES };
    const quotas = this.#hasOwners ? shareOf(this.host.quotas) : halfOf(this.host.quotas);
    let template: Template = { ...wanted, quotas };
    let namespaces: Running;
    try {
      namespaces = finish(planNamespaces(this.#standing, template), means);
    } catch (error) {
      const isPivot = error instanceof SetupError && error.step === PIVOT;
      if (!isPivot || !isErrno(error.cause, "EPERM")) throw error;
      template = { ...template, pivots: false };
      namespaces = finish(planNamespaces(this.#standing, template), means);
    }
    wait(namespaces.output("pid"));
    for (const name of ["host-mounts", "template"]) {
      const before = this.#fds[name];
      if (before !== undefined) this.#replaced.push(before);
      this.#fds[name] = namespaces.output(name);
    }
    this.#template = template;
  }

  #startHolder(): void {
    using loan = this.memory.lend();
    using ready = new Ready();
    let holder: Running;
    try {
      const user = this.#standing.hasUserNamespace ? CLONE.CLONE_NEWUSER : 0;
      const flags = user | CLONE.CLONE_NEWPID;
      const means = { ...this.#means(loan, { ready: ready.writer }), flags };
      holder = underHalf(this.host.quotas, () => carryOut(planHolder(), means));
    } catch (error) {
      throw noUserNamespace(error);
    }
    this.#holderPid = holder.child.pid;
    this.#fds["holder"] = holder.child.pidfd;
    const isReady = ready.await();
    const refusal = holder.refusal();
    if (refusal !== null) throw toSetupError(refusal);
    if (!isReady) throw notReady("the holder");
    if (!this.#standing.hasUserNamespace) return;
    writeHolderMaps(this.#holderPid, this.host.identity);
    this.#fds["holder-user"] = openNamespace(this.#holderPid, "user");
  }

  /** Makes pairs of namespaces in advance, of the usual kind, until `count` are ready. */
  async fill(count: number): Promise<void> {
    const processes = this.#pairProcesses(DEFAULT_LIMITS);
    await this.crew.with(async () => {
      this.#mustBeOpen();
      while (this.#pairs.length < count) {
        const pair = await this.#makePair(ROOT, "none", processes);
        // Another may have filled it meanwhile.
        if (this.#pairs.length < count) this.#pairs.push(pair);
        else pair[Symbol.dispose]();
      }
    });
  }

  /**
   * Makes a hull in advance.
   *
   * @param keep A descriptor that init holds until it has ended, such as that of a lock.
   * @throws {SetupError} If a step is refused.
   */
  openHull(wish: HullWish, keep: number | null): Promise<Hull> {
    return this.crew.with(() =>
      this.#openHull(wish, keep, {}, (cgroup) => planHull(wish, planFacts(this.host, cgroup)))
    );
  }

  /**
   * Builds a sandbox, with its init running and no program yet.
   *
   * @param user Who its programs will be.
   * @param place What `openHull` takes; or a hull that was made for it, and has room for its lowers.
   * @throws {SetupError} If a step is refused.
   */
  create(
    layout: Layout,
    user: ShownUser,
    { lockFd, hull }: { readonly lockFd: number | null; readonly hull: Hull | null },
  ): Promise<Sandbox> {
    return this.crew.with(async () => {
      if (hull !== null) return await this.#furnish(layout, hull);
      const lowers = countLowers(layout.parts);
      if (lowers > this.#template.lowers) {
        this.#mustBeOpen();
        this.#makeTemplate({ ...this.#template, lowers: MAX_LOWERS });
      }
      const wish = { ...layout, user, below: layout.parts.slice(1) };
      const made = await this.#openHull(
        wish,
        lockFd,
        mountsOf(layout),
        (cgroup) => planSandbox(layout, planFacts(this.host, cgroup)),
      );
      return new Sandbox(this, made, layout);
    });
  }

  async #openHull(
    wish: HullWish,
    keep: number | null,
    mounts: Readonly<Record<string, number>>,
    toPlan: (cgroup: Cgroup | null) => Plan,
  ): Promise<Hull> {
    this.#mustBeOpen();
    const { user, limits } = wish;
    const pair = await this.#takePair(wish);
    let cgroup: Cgroup | null = null;
    try {
      cgroup = this.#makeCgroup(limits);
      using loan = this.memory.lend();
      using near = new Near();
      const means = this.#means(loan, {
        ...mounts,
        "pair-net": near.get(pair.net),
        keep: near.get(keep ?? this.#fds["null"]!),
      });
      const plan = toPlan(cgroup);
      const room = this.#template.lowers;
      // What shares our memory and is in a cgroup must be a vfork's: no other is spared at its limit.
      const running = cgroup === null
        ? await this.#run(plan, means)
        : finish(plan, sharingFiles(means));
      const mapsRoot = this.host.identity.kind !== "single" || (user.uid === 0 && user.gid === 0);
      const hull = new Hull(running.output("pid"), { user: pair.user, cgroup, mapsRoot, room });
      closeQuietly(pair.net); // from here on init keeps it
      return hull;
    } catch (error) {
      pair[Symbol.dispose]();
      void cgroup?.remove();
      throw error;
    }
  }

  async #furnish(layout: Layout, hull: Hull): Promise<Sandbox> {
    this.#mustBeOpen();
    using loan = this.memory.lend();
    using near = new Near();
    const means = this.#means(loan, { ...mountsOf(layout), hull: near.get(hull.pidfd) });
    await this.#run(planFurnishing(layout, planFacts(this.host, null)), means);
    return new Sandbox(this, hull, layout);
  }

  /** Says whether a tree's owners can be shifted into the sandbox's range: by root, on some systems. */
  canMapIds(path: string): boolean {
    if (this.host.identity.kind !== "root") return false;
    const known = this.#mapping.get(path);
    if (known !== undefined) return known;
    using loan = this.memory.lend();
    const running = carryOut(planIdMapping(path, planFacts(this.host, null)), this.#means(loan));
    wait(running.child.pid);
    closeQuietly(running.child.pidfd);
    const isPossible = running.refusal() === null;
    this.#mapping.set(path, isPossible);
    return isPossible;
  }

  /** The descriptors that plans know by name. */
  get fds(): Readonly<Record<string, number>> {
    return this.#fds;
  }

  /** The cgroups of this process are looked for when a limit first needs them. */
  #makeCgroup(limits: Limits): Cgroup | null {
    const controllers = this.#controllers(limits);
    return controllers.length === 0 ? null : Cgroup.create(this.#cgroupParent, limits, controllers);
  }

  #controllers(limits: Limits): Controller[] {
    return neededControllers(limits, this.host.identity.kind === "none");
  }

  get #cgroupParent(): CgroupParent {
    return this.#cgroups ??= new CgroupParent();
  }

  /** How many processes all users of a pair may have: one user is limited without, a cgroup better. */
  #pairProcesses(limits: Limits): number | null {
    if (!this.#hasOwners) return null;
    const isCounted = this.#controllers(limits).includes("pids") &&
      this.#cgroupParent.find("pids") !== null;
    return isCounted ? null : limits.pids;
  }

  /** Whether each pair has a user of its own for an owner: the kernel counts a namespace's use to him. */
  get #hasOwners(): boolean {
    const { kind } = this.host.identity;
    return kind === "root" || kind === "subordinate";
  }

  get #standing(): Standing {
    return standingOf(this.host.identity);
  }

  /** Pairs of the usual kind are kept ready. */
  async #takePair({ user, network, limits }: HullWish): Promise<Pair> {
    const isShownAsRoot = this.host.identity.kind !== "single" ||
      (user.uid === 0 && user.gid === 0);
    const processes = this.#pairProcesses(limits);
    const isUsual = isShownAsRoot && network !== "blackhole" &&
      processes === this.#pairProcesses(DEFAULT_LIMITS);
    return (isUsual ? this.#pairs.pop() : undefined) ??
      await this.#makePair(user, network, processes);
  }

  /** The one id of a user without subordinate ids may be shown as any. */
  async #makePair(
    { uid, gid }: ShownUser,
    network: Network,
    processes: number | null,
  ): Promise<Pair> {
    const { identity, quotas } = this.host;
    const limit = this.#hasOwners ? { processes, owner: this.#nextOwner() } : null;
    const plan = planPair(this.#standing, network, { limit, quotas: shareOf(quotas) });
    using loan = this.memory.lend();
    using ready = new Ready();
    const means = sharingFiles(this.#means(loan, { ready: ready.writer }));
    const { isAlone } = this.crew;
    const keeper = isAlone ? carryOut(plan, means) : carryOutAside(plan, means);
    const { pid } = keeper.child;
    try {
      const isReady = isAlone ? ready.await() : await ready.wait(keeper.child.pidfd);
      const refusal = keeper.refusal();
      if (refusal !== null) throw toSetupError(refusal);
      if (!isReady) throw notReady("the keeper of a pair of namespaces");
      if (this.#standing.hasUserNamespace) {
        const uids = toMapText(nestedExtents(identity.uids, uid));
        const gids = toMapText(nestedExtents(identity.gids, gid));
        await this.#run(planIdMaps(pid, { uids, gids }, this.#standing), this.#means(loan));
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
    if (!this.crew.isAlone) await ended(pidfd);
    reapQuietly(pid);
    closeQuietly(pidfd);
  }

  /** Owners are users of the holder, each again only when all have been: the first id is root's. */
  #nextOwner(): number {
    const { inside, count } = this.host.identity.uids.at(-1)!;
    const first = Math.max(1, inside);
    return first + this.#pairCount++ % (inside + count - first);
  }

  /** Carries out a plan to its end. @throws {SetupError} As `finish`. */
  async #run(plan: Plan, means: Means): Promise<Running> {
    return reapFirst(plan, await this.crew.carryOut(plan, sharingFiles(means)));
  }

  #mustBeOpen(): void {
    if (this.#holderPid === 0) throw new GoneError("Cannot make a sandbox: the engine has ended");
  }

  #means({ memory }: Loan, fds: Readonly<Record<string, number>> = {}): Means {
    return { memory, fds: { ...this.#fds, ...fds } };
  }

  /** Ends the holder, and with it every sandbox. */
  [Symbol.dispose](): void {
    const fds = Object.values(this.#fds).concat(this.#replaced.splice(0));
    this.#fds = {};
    this.crew.whenIdle(() => {
      for (const pair of this.#pairs.splice(0)) pair[Symbol.dispose]();
      closeQuietly(...fds.filter((fd) => fd >= 0));
      this.memory[Symbol.dispose]();
    });
    if (this.#holderPid > 0) {
      killQuietly(this.#holderPid);
      reapQuietly(this.#holderPid);
    }
    this.#holderPid = 0;
  }
}

/**
 * Carries out a plan to its end, and reaps the process that began it.
 *
 * @throws {SetupError} If a step is refused; the process it was made for has ended then.
 */
function finish(plan: Plan, means: Means): Running {
  return reapFirst(plan, carryOut(plan, means));
}

function reapFirst(plan: Plan, running: Running): Running {
  wait(running.child.pid);
  closeQuietly(running.child.pidfd);
  const refusal = running.refusal();
  if (refusal === null) return running;
  const made = plan.some((step) => step.output === "pid") ? running.output("pid") : 0;
  if (made > 0) reapQuietly(made);
  throw toSetupError(refusal);
}

/** A vfork returns before the execution is complete: the id maps in /proc are not ours until then. */
class Ready implements Disposable {
  readonly #reader: number;
  #writer: number;

  constructor() {
    const { reader, writer } = pipe(O.O_CLOEXEC);
    this.#reader = reader;
    this.#writer = writer;
  }

  /** What init writes to. */
  get writer(): number {
    return this.#writer;
  }

  /** Waits until init says that it runs, or has ended; false if that takes too long. */
  await(): boolean {
    this.#letGo();
    return awaitReadable(this.#reader, READY_MS);
  }

  /** Waits while this thread goes on, and init may still have to take its end; false if it has ended. */
  async wait(init: number): Promise<boolean> {
    const ended = readable(init).then(() => false);
    const isReady = await Promise.race([readable(this.#reader, READY_MS), ended]);
    forget(init);
    forget(this.#reader);
    return isReady;
  }

  /** From here on only init has it. */
  #letGo(): void {
    closeQuietly(this.#writer);
    this.#writer = -1;
  }

  [Symbol.dispose](): void {
    if (this.#writer >= 0) this.#letGo();
    closeQuietly(this.#reader);
  }
}

function notReady(what: string): SetupError {
  return new SetupError("execute init", `Cannot start ${what}: not done in ${READY_MS} ms`);
}

function openNamespace(pid: number, kind: string): number {
  return openAt(CWD, `/proc/${pid}/ns/${kind}`, O.O_CLOEXEC);
}

function killQuietly(pid: number): void {
  try {
    kill(pid, SIGNAL.SIGKILL);
  } catch (error) {
    if (!isErrno(error, "ESRCH")) throw error;
  }
}

function reapQuietly(pid: number): void {
  try {
    wait(pid);
  } catch (error) {
    if (!isErrno(error, "ECHILD")) throw error;
  }
}

/**
 * Programs inherit our keyring, so it is not to be our caller's: one for all, as a user may have few.
 * Where he has too many, or a filter refuses it, theirs refuses them each call that takes keys.
 */
function leaveKeyring(): void {
  try {
    joinSessionKeyring();
  } catch (error) {
    if (!isErrno(error, "EDQUOT", "EPERM", "EACCES", "ENOSYS")) throw error;
  }
}
