/** The engine: the holder and what is prepared below it once, and the making of sandboxes. */
import {
  CLONE,
  closeQuietly,
  isErrno,
  joinSessionKeyring,
  O,
  openAt,
  PR,
  prctl,
  resetSignal,
  SIGNAL,
  socketPair,
  wait,
} from "../../ffi/mod.ts";
import { GoneError, SetupError } from "../errors.ts";
import { carryOut, type Means, type Running, toSetupError } from "./carry_out.ts";
import { Cgroup } from "./cgroup/group.ts";
import type { Controller } from "./cgroup/hierarchy.ts";
import { CgroupParent } from "./cgroup/parent.ts";
import { neededControllers } from "./cgroup/setting.ts";
import { Crew } from "./crew.ts";
import {
  MAX_LOWERS,
  PIVOT,
  planHolder,
  planNamespaces,
  type Template,
  USUAL_TEMPLATE,
} from "./holder_plan.ts";
import { type Host, raiseOpenFiles } from "./host.ts";
import { mapsRoot, type Standing, standingOf } from "./identity.ts";
import { planFacts } from "./facts.ts";
import type { Limits } from "./limit.ts";
import { Hull } from "./hull.ts";
import { planHull } from "./hull_plan.ts";
import { type HullWish, type Layout, type ShownUser, toHullWish } from "./layout.ts";
import { Pairs } from "./pair.ts";
import { finish, killQuietly, reapFirst, reapQuietly } from "./conclude.ts";
import { notReady, openNamespace, Ready } from "./ready.ts";
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

/** Of a sandbox that has no lock, and for which nothing is ready. */
const NO_PLACE = { lockFd: null, hull: null };

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
  readonly #pairs: Pairs;
  #template = USUAL_TEMPLATE;
  #cgroups: CgroupParent | undefined;
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
    this.#pairs = new Pairs({
      host,
      crew: this.crew,
      memory: this.memory,
      means: (loan, fds) => this.#means(loan, fds),
      countsPids: (limits) =>
        this.#controllers(limits).includes("pids") && this.#cgroupParent.find("pids") !== null,
    });
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
    const quotas = this.#pairs.hasOwners ? shareOf(this.host.quotas) : halfOf(this.host.quotas);
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
  fill(count: number): Promise<void> {
    return this.crew.with(async () => {
      this.#mustBeOpen();
      await this.#pairs.fill(count);
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
    { lockFd, hull }: { readonly lockFd: number | null; readonly hull: Hull | null } = NO_PLACE,
  ): Promise<Sandbox> {
    return this.crew.with(async () => {
      if (hull !== null) return await this.#furnish(layout, hull);
      const lowers = countLowers(layout.parts);
      if (lowers > this.#template.lowers) {
        this.#mustBeOpen();
        this.#makeTemplate({ ...this.#template, lowers: MAX_LOWERS });
      }
      const made = await this.#openHull(
        toHullWish(layout, user),
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
    const pair = await this.#pairs.take(wish);
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
      const hull = new Hull(running.output("pid"), {
        user: pair.user,
        cgroup,
        mapsRoot: mapsRoot(this.host.identity, user),
        room,
      });
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

  get #standing(): Standing {
    return standingOf(this.host.identity);
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
      this.#pairs[Symbol.dispose]();
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
