/** The engine: the holder and what is prepared below it once, and the making of sandboxes. */
import {
  awaitReadable,
  CLONE,
  closeQuietly,
  isErrno,
  joinSessionKeyring,
  kill,
  Memory,
  O,
  openAt,
  pipe,
  PR,
  prctl,
  read,
  resetSignal,
  SIGNAL,
  socketPair,
  wait,
} from "../../ffi/mod.ts";

import { SetupError } from "../errors.ts";
import { carryOut, type Means, type Running, toSetupError } from "./carry_out.ts";
import { Cgroup } from "./cgroup/group.ts";
import type { Controller } from "./cgroup/hierarchy.ts";
import { CgroupParent } from "./cgroup/parent.ts";
import { neededControllers } from "./cgroup/setting.ts";
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
import type { Layout } from "./layout.ts";
import { writeHolderMaps } from "./map.ts";
import { CWD } from "./process_step.ts";
import { openProgram } from "./program_file.ts";
import { noUserNamespace } from "./remedy.ts";
import { Sandbox } from "./sandbox.ts";
import { planIdMapping, planSandbox } from "./sandbox_plan.ts";
import { halfOf, shareOf, underHalf } from "./quota.ts";
import type { Plan } from "./step.ts";

/** A user and a network namespace for one sandbox, by descriptor. */
export interface Pair extends Disposable {
  readonly user: number;
  readonly net: number;
}

/** Who a sandbox's programs will be. */
interface ShownUser {
  readonly uid: number;
  readonly gid: number;
}

const ROOT: ShownUser = { uid: 0, gid: 0 };

/** Enough for the table of any plan but one with a large environment. */
const PLAN_BYTES = 128 * 1024;

/** How long a process of ours may take to start. */
const READY_MS = 10_000;

/** Makes sandboxes. Everything it made ends with it, and with this process. */
export class Engine implements Disposable {
  readonly host: Host;
  readonly #memory = new Memory(PLAN_BYTES);
  #fds: Record<string, number> = {};
  readonly #pairs: Pair[] = [];
  #ready = -1;
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
    const ready = pipe(O.O_CLOEXEC);
    fds["ready"] = ready.writer;
    this.#ready = ready.reader;

    this.#startHolder();
    this.#makeTemplate(USUAL_TEMPLATE);
  }

  /** Prepares the mount namespaces that sandboxes come from. */
  #makeTemplate(wanted: Omit<Template, "quotas">): void {
    const means = { flags: CLONE.CLONE_FILES };
    const quotas = this.#hasOwners ? shareOf(this.host.quotas) : halfOf(this.host.quotas);
    let template: Template = { ...wanted, quotas };
    let namespaces: Running;
    try {
      namespaces = this.#run(planNamespaces(this.#standing, template), means);
    } catch (error) {
      const isPivot = error instanceof SetupError && error.step === PIVOT;
      if (!isPivot || !isErrno(error.cause, "EPERM")) throw error;
      template = { ...template, pivots: false };
      namespaces = this.#run(planNamespaces(this.#standing, template), means);
    }
    wait(namespaces.output("pid"));
    for (const name of ["host-mounts", "template"]) {
      const before = this.#fds[name];
      if (before !== undefined) closeQuietly(before);
      this.#fds[name] = namespaces.output(name);
    }
    this.#template = template;
  }

  #startHolder(): void {
    let holder: Running;
    try {
      const user = this.#standing.hasUserNamespace ? CLONE.CLONE_NEWUSER : 0;
      const flags = user | CLONE.CLONE_NEWPID;
      holder = underHalf(this.host.quotas, () => this.#launch(planHolder(), { flags }));
    } catch (error) {
      throw noUserNamespace(error);
    }
    this.#holderPid = holder.child.pid;
    this.#fds["holder"] = holder.child.pidfd;
    const refusal = holder.refusal();
    if (refusal !== null) throw toSetupError(refusal);
    this.#awaitInit("the holder");
    if (!this.#standing.hasUserNamespace) return;
    writeHolderMaps(this.#holderPid, this.host.identity);
    this.#fds["holder-user"] = openNamespace(this.#holderPid, "user");
  }

  /** How many pairs of namespaces are ready. */
  get readyPairs(): number {
    return this.#pairs.length;
  }

  /** Makes pairs of namespaces in advance, until `count` are ready. */
  fill(count: number): void {
    const processes = this.#pairProcesses(DEFAULT_LIMITS);
    while (this.#pairs.length < count) this.#pairs.push(this.#makePair(ROOT, "none", processes));
  }

  /**
   * Builds a sandbox, with its init running and no program yet.
   *
   * @param user Who its programs will be: a user's single id can be shown as another.
   * @param keep A descriptor that init holds until it has ended, such as that of a lock.
   * @throws {SetupError} If a step is refused.
   */
  create(
    layout: Layout,
    user: ShownUser,
    keep: number | null,
  ): Sandbox {
    const lowers = layout.parts.reduce((sum, part) => sum + part.lowers.length, 0);
    if (lowers > this.#template.lowers) {
      this.#makeTemplate({ ...this.#template, lowers: MAX_LOWERS });
    }
    const cgroup = this.#makeCgroup(layout.limits);
    const pair = this.#takePair(user, layout);
    try {
      const running = this.#run(planSandbox(layout, planFacts(this.host, cgroup)), {
        fds: { "pair-net": pair.net, keep: keep ?? this.#fds["null"]! },
      });
      const mapsRoot = this.host.identity.kind !== "single" || (user.uid === 0 && user.gid === 0);
      const made = { user: pair.user, layout, cgroup, mapsRoot };
      const sandbox = new Sandbox(this, made, running.output("pid"));
      closeQuietly(pair.net); // from here on init keeps it
      return sandbox;
    } catch (error) {
      pair[Symbol.dispose]();
      void cgroup?.remove();
      throw error;
    }
  }

  /** Says whether a tree's owners can be shifted into the sandbox's range: by root, on some systems. */
  canMapIds(path: string): boolean {
    if (this.host.identity.kind !== "root") return false;
    const known = this.#mapping.get(path);
    if (known !== undefined) return known;
    const running = this.#launch(planIdMapping(path, planFacts(this.host, null)));
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
  #takePair(user: ShownUser, { network, limits }: Layout): Pair {
    const isShownAsRoot = this.host.identity.kind !== "single" ||
      (user.uid === 0 && user.gid === 0);
    const processes = this.#pairProcesses(limits);
    const isUsual = isShownAsRoot && network !== "blackhole" &&
      processes === this.#pairProcesses(DEFAULT_LIMITS);
    return (isUsual ? this.#pairs.pop() : undefined) ?? this.#makePair(user, network, processes);
  }

  /** The one id of a user without subordinate ids may be shown as any. */
  #makePair({ uid, gid }: ShownUser, network: Network, processes: number | null): Pair {
    const { identity } = this.host;
    const limit = this.#hasOwners ? { processes, owner: this.#nextOwner() } : null;
    const quotas = shareOf(this.host.quotas);
    const keeper = this.#launch(planPair(this.#standing, network, { limit, quotas }));
    const { pid, pidfd } = keeper.child;
    try {
      const refusal = keeper.refusal();
      if (refusal !== null) throw toSetupError(refusal);
      this.#awaitInit("the keeper of a pair of namespaces");
      if (this.#standing.hasUserNamespace) {
        const uids = toMapText(nestedExtents(identity.uids, uid));
        const gids = toMapText(nestedExtents(identity.gids, gid));
        this.#run(planIdMaps(pid, { uids, gids }, this.#standing));
      }
      const user = openNamespace(pid, "user");
      const net = openNamespace(pid, "net");
      return { user, net, [Symbol.dispose]: () => closeQuietly(user, net) };
    } finally {
      endChild(pid);
      closeQuietly(pidfd);
    }
  }

  /** Owners are users of the holder, each again only when all have been: the first id is root's. */
  #nextOwner(): number {
    const { inside, count } = this.host.identity.uids.at(-1)!;
    const first = Math.max(1, inside);
    return first + this.#pairCount++ % (inside + count - first);
  }

  /** A vfork returns before the execution is complete: the id maps in /proc are not ours until then. */
  #awaitInit(what: string): void {
    if (!awaitReadable(this.#ready, READY_MS)) {
      throw new SetupError("execute init", `Cannot start ${what}: not done in ${READY_MS} ms`);
    }
    read(this.#ready, new Uint8Array(1));
  }

  /**
   * Carries out a plan to its end, and reaps the process that began it.
   *
   * @throws {SetupError} If a step is refused; the process it was made for has ended then.
   */
  #run(plan: Plan, means: Partial<Means> = {}): Running {
    const running = this.#launch(plan, means);
    wait(running.child.pid);
    closeQuietly(running.child.pidfd);
    const refusal = running.refusal();
    if (refusal === null) return running;
    const made = plan.some((step) => step.output === "pid") ? running.output("pid") : 0;
    if (made > 0) reapQuietly(made);
    throw toSetupError(refusal);
  }

  #launch(plan: Plan, means: Partial<Means> = {}): Running {
    this.#memory.clear();
    const fds = { ...this.#fds, ...means.fds };
    return carryOut(plan, { memory: this.#memory, flags: means.flags ?? 0, fds });
  }

  /** Ends the holder, and with it every sandbox. */
  [Symbol.dispose](): void {
    for (const pair of this.#pairs.splice(0)) pair[Symbol.dispose]();
    const fds = Object.values(this.#fds).concat(this.#ready);
    this.#fds = {};
    this.#ready = -1;
    closeQuietly(...fds.filter((fd) => fd >= 0));
    if (this.#holderPid > 0) endChild(this.#holderPid);
    this.#holderPid = 0;
  }
}

function openNamespace(pid: number, kind: string): number {
  return openAt(CWD, `/proc/${pid}/ns/${kind}`, O.O_CLOEXEC);
}

function endChild(pid: number): void {
  try {
    kill(pid, SIGNAL.SIGKILL);
  } catch (error) {
    if (!isErrno(error, "ESRCH")) throw error;
  }
  reapQuietly(pid);
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
