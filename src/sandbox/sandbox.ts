/** One sandbox that is alive: its programs, its terminals and its end. */
import {
  awaitReadable,
  CLONE,
  closeQuietly,
  fetch,
  type FileSystemStatus,
  fstatfs,
  isErrno,
  Memory,
  O,
  pipe,
  ptyNumber,
  read,
  readable,
  SIGNAL,
  unlockPty,
  wait,
} from "../../ffi/mod.ts";
import { GoneError, SetupError } from "../errors.ts";
import { carryOut, type Running, toSetupError } from "./carry_out.ts";
import { commandError } from "./command_error.ts";
import type { Usage } from "./cgroup/group.ts";
import type { Engine } from "./engine.ts";
import { processFacts } from "./facts.ts";
import type { Hull } from "./hull.ts";
import type { Layout } from "./layout.ts";
import type { Act } from "./file/act.ts";
import { openedBy, planAct } from "./file/act_plan.ts";
import { Files } from "./file/files.ts";
import { standingOf } from "./identity.ts";
import { Near, sharingFiles } from "./near.ts";
import type { Loan } from "./plan_memory.ts";
import { Process } from "./process.ts";
import {
  candidates,
  EXECUTE,
  FIRST_FREE_FD,
  openPlaceSteps,
  openPtySteps,
  planEndAll,
  planInside,
  planProcess,
  type Program,
} from "./process_plan.ts";
import { ProcessTable } from "./process_table.ts";
import { openProgram } from "./program_file.ts";
import type { Plan } from "./step.ts";
import { freezeByCgroup, freezeBySignal, type Thaw } from "./freeze.ts";
import { Quiet } from "./quiet.ts";
import { Trees } from "./tree.ts";

/** How long a program may take to be executed before it is given up. */
const START_MS = 10_000;

/** So long we stand still for the only one: most are executed by then, and to be told costs more. */
const PATIENCE_MS = 2;

/** Descriptors that a program gets; ours are closed once it has them. */
export interface Stdio {
  /** Absent for a program that reads nothing. */
  readonly stdin?: number;
  readonly stdout: number;
  readonly stderr: number;
}

/** The id of init inside. */
const INIT = 1;

/** Less than this is nothing. */
const PAGE_BYTES = 4096;

/** Places that a program can fill. */
const WRITABLE = ["/", "/tmp", "/run", "/dev/shm"];

/** A terminal inside: the side that we hold, and its number. */
export interface Pty {
  readonly master: number;
  readonly number: number;
}

/** A sandbox whose init runs. */
export class Sandbox {
  /** The host's id of its init. */
  readonly initPid: number;
  /** Its files. */
  readonly files = new Files((...act) => this.#act(...act));
  readonly #engine: Engine;
  readonly #hull: Hull;
  readonly #layout: Layout;
  readonly #trees = new Trees(() => this.openProcessTable());
  readonly #quiet = new Quiet();
  /** Resolves when no plan of a program is being carried out. */
  #carried = Promise.resolve();
  #closing: Promise<void> | undefined;

  constructor(engine: Engine, hull: Hull, layout: Layout) {
    this.#engine = engine;
    this.#hull = hull;
    this.#layout = layout;
    this.initPid = hull.pid;
  }

  /**
   * Starts a program, and returns once it has been executed.
   *
   * @param stdio Nothing for a program on a pty.
   *
   * @throws {CommandError} If it is missing or cannot be executed.
   * @throws {SetupError} If a step before is refused.
   * @throws {GoneError} If the sandbox has ended.
   */
  async start(program: Program, stdio: Stdio | Record<never, never>): Promise<Process> {
    return await this.#quiet.work(() => this.#start(program, stdio));
  }

  /** Changes something by other ways than programs: not while everything is stopped. */
  async change<T>(work: () => Promise<T>): Promise<T> {
    return await this.#quiet.work(work);
  }

  #start(program: Program, stdio: Stdio | Record<never, never>): Promise<Process> {
    return this.#engine.crew.with(() => this.#startNow(program, stdio));
  }

  async #startNow(program: Program, stdio: Stdio | Record<never, never>): Promise<Process> {
    const given = Object.values(stdio);
    try {
      this.#mustBeOpen();
      const plan = planProcess(
        program,
        processFacts(this.#engine.host, program, this.#layout, this.#hull.cgroup),
      );
      using loan = this.#engine.memory.lend(sizeOf(program));
      const { reader, writer } = pipe(O.O_CLOEXEC);
      const executed = liftFd(writer);
      given.push(executed);
      try {
        // It executes the program: one for each, since a user's programs could change its mode.
        const exec = liftFd(openProgram("exec"));
        given.push(exec);
        const running = await this.#carryOutNext(plan, loan, { ...stdio, exec, executed });
        closeQuietly(...given.splice(0));
        return await this.#finishStart(program, running, reader);
      } finally {
        closeQuietly(reader);
      }
    } finally {
      closeQuietly(...given);
    }
  }

  /** The pipe ends when the program is executed, and everything before it has been done. */
  async #finishStart(
    program: Program,
    running: Running,
    executed: number,
  ): Promise<Process> {
    const pid = running.output("pid");
    if (pid <= 0) throw this.#toError(running);
    const process = this.#trees.add(pid);
    const patience = this.#engine.crew.isAlone ? PATIENCE_MS : 0;
    const isDone = awaitReadable(executed, patience) || await readable(executed, START_MS);
    const refusal = running.refusal();
    const answers = isDone ? readAnswers(executed) : [];
    if (isDone && refusal === null && answers.length === 0) return process;

    process.signal(SIGNAL.SIGKILL);
    await process.wait();
    if (!isDone) {
      throw new SetupError("execute", `Cannot execute "${program.argv[0]}": not done in 10 s`, {
        remedy: "Something inside the sandbox stops its new processes: close the sandbox.",
      });
    }
    if (refusal === null) throw commandError(program, answers);
    // What makes our own program too large, or its memory too small, would do so to any.
    if (refusal.step.name === EXECUTE) throw commandError(program, [-refusal.error.errno]);
    throw this.#toError(running);
  }

  /**
   * Opens a new pty inside; the caller closes its master.
   *
   * @throws {GoneError} If the sandbox has ended.
   */
  openPty(): Pty {
    const [master] = this.carryOutInside(openPtySteps(), ["master"]) as [number];
    unlockPty(master);
    return { master, number: ptyNumber(master) };
  }

  /**
   * Carries out steps among its mounts, and gives the descriptors that they opened, which are ours.
   *
   * @throws {SetupError} If one is refused: nothing is open then.
   * @throws {GoneError} If the sandbox has ended.
   */
  carryOutInside(steps: Plan, outputs: readonly string[] = []): number[] {
    this.#mustBeOpen();
    using memory = new Memory(16 * 1024);
    const plan = planInside({ standing: standingOf(this.#engine.host.identity) }, steps);
    const running = this.#carryOut(plan, memory, {}, CLONE.CLONE_FILES);
    const fds = outputs.map((name) => running.output(name));
    if (running.refusal() === null) return fds;
    closeQuietly(...fds.filter((fd) => fd > 0));
    throw this.#toError(running);
  }

  /** Whether ids other than root's exist for files inside. */
  get hasOtherIds(): boolean {
    return this.#engine.host.identity.kind !== "single";
  }

  /** Whether its init runs, and is not about to end. */
  get isAlive(): boolean {
    return this.#closing === undefined && this.#hull.isAlive;
  }

  /**
   * Reads what was counted against limits that a cgroup holds, while the sandbox is open.
   *
   * @throws {GoneError} If it has ended.
   */
  readUsage(): Usage {
    this.#mustBeOpen();
    return this.#hull.cgroup?.readUsage() ??
      { outOfMemory: 0, pidsRefused: 0, peakMemoryBytes: null };
  }

  /**
   * Lists the places that are full, of `/`, `/tmp`, `/run` and `/dev/shm`.
   *
   * @throws {GoneError} If the sandbox has ended.
   */
  findFullPlaces(): string[] {
    return this.#lookAt(WRITABLE, (fds) => WRITABLE.filter((_, i) => isFull(fstatfs(fds[i]!))));
  }

  /**
   * Says whether as many processes run now as may, where no cgroup has counted.
   *
   * @throws {GoneError} If the sandbox has ended.
   */
  isAtPidsLimit(): boolean {
    const { pids } = this.#layout.limits;
    if (pids === null || this.#hull.cgroup?.countsPids) return false;
    // Init is counted in place of the program that has just ended.
    return this.#lookAt(["/proc"], ([proc]) => countTasks(`/proc/self/fd/${proc}`) >= pids);
  }

  #lookAt<T>(paths: readonly string[], look: (fds: readonly number[]) => T): T {
    const fds = this.carryOutInside(openPlaceSteps(paths), paths);
    try {
      return look(fds);
    } finally {
      closeQuietly(...fds);
    }
  }

  /**
   * Opens the table of its processes.
   *
   * @throws {GoneError} If it has ended.
   */
  openProcessTable(): ProcessTable {
    const [proc] = this.carryOutInside(openPlaceSteps(["/proc"]), ["/proc"]) as [number];
    return new ProcessTable(proc);
  }

  /**
   * Stops everything inside but init, and returns when nothing runs; what it gives lets all go on.
   *
   * @throws {SetupError} If something cannot be stopped.
   * @throws {GoneError} If the sandbox has ended.
   */
  async freeze(): Promise<Thaw> {
    const unquiet = await this.#quiet.begin();
    try {
      this.#mustBeOpen();
      const dir = this.#hull.cgroup?.freezeDir ?? null;
      const thaw = dir === null
        ? await freezeBySignal(() => this.openProcessTable())
        : await freezeByCgroup(dir);
      return () => {
        thaw();
        unquiet();
      };
    } catch (error) {
      unquiet();
      throw error;
    }
  }

  /** Says whether any program runs inside. @throws {GoneError} If the sandbox has ended. */
  hasPrograms(): boolean {
    using table = this.openProcessTable();
    return table.pids().some((pid) => pid !== INIT && table.read(pid)?.isDead === false);
  }

  #act: Act = async (steps, { place, fds = {}, opens = [] }, look) => {
    this.#mustBeOpen();
    using memory = new Memory(roomOf(steps));
    const plan = planAct(steps, place, {
      standing: standingOf(this.#engine.host.identity),
      mapsRoot: this.#hull.mapsRoot,
    });
    const running = this.#carryOut(plan, memory, fds, CLONE.CLONE_FILES);
    const pid = running.output("pid");
    if (pid <= 0) throw this.#toError(running);
    await new Process(pid, () => {}).wait();
    const refusal = running.refusal();
    const kept = refusal === null ? opens : [];
    const opened = openedBy(steps).filter((name) => !kept.includes(name));
    closeQuietly(...opened.map((name) => running.output(name)).filter((fd) => fd > 0));
    if (refusal !== null) throw refusal.error;
    return look(running);
  };

  /** Resolves when its init has ended, by `close` or otherwise. */
  get ended(): Promise<void> {
    return this.#hull.ended;
  }

  /**
   * Ends a program and all that belongs to it, and returns when nothing of it runs.
   *
   * @throws {GoneError} If the sandbox has ended.
   */
  async endTree(root: Process): Promise<void> {
    await this.#trees.end(root, () => this.endAll());
  }

  /** Ends everything inside but init, at one moment. @throws {GoneError} If it has ended. */
  async endAll(): Promise<void> {
    this.#mustBeOpen();
    using memory = new Memory(16 * 1024);
    const plan = planEndAll({ standing: standingOf(this.#engine.host.identity) });
    const running = this.#carryOut(plan, memory, {});
    const pid = running.output("pid");
    if (pid <= 0) throw this.#toError(running);
    const process = new Process(pid, () => {});
    // Whoever is inside may have stopped it.
    const timer = setTimeout(() => process.signal(SIGNAL.SIGKILL), START_MS);
    await process.wait();
    clearTimeout(timer);
  }

  /** Ends every process inside at once and waits until none is left. Twice is harmless. */
  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #end(): Promise<void> {
    this.#hull.kill();
    // What is being carried out names its descriptors.
    await this.#carried;
    // Its programs are our children: init is only done when they have been reaped.
    for (const process of [...this.#trees.roots]) await process.wait();
    await this.#hull.close();
  }

  /** Carries out the plan of a program, after those before: each begins with a process that counts too. */
  #carryOutNext(
    plan: Plan,
    { memory }: Loan,
    fds: Readonly<Record<string, number>>,
  ): Promise<Running> {
    const carried = this.#carried.then(async () => {
      this.#mustBeOpen();
      using near = new Near();
      const { user, pidfd } = this.#hull;
      const own = { "pair-user": near.get(user), init: near.get(pidfd) };
      const means = sharingFiles({ memory, fds: { ...this.#engine.fds, ...own, ...fds } });
      return reapBeginner(await this.#engine.crew.carryOut(plan, means));
    });
    this.#carried = carried.then(() => {}, () => {});
    return carried;
  }

  #carryOut(
    plan: Plan,
    memory: Memory,
    fds: Readonly<Record<string, number>>,
    flags = 0,
  ): Running {
    const own = { "pair-user": this.#hull.user, init: this.#hull.pidfd };
    const all = { ...this.#engine.fds, ...own, ...fds };
    return reapBeginner(carryOut(plan, { memory, flags, fds: all }));
  }

  #toError(running: Running): Error {
    const refusal = running.refusal()!;
    // The kernel says so of a pid namespace whose init has ended, whether entered or cloned into.
    if (isErrno(refusal.error, "ESRCH", "ENOMEM")) {
      return new GoneError("Cannot enter the sandbox: it ended");
    }
    return toSetupError(refusal);
  }

  #mustBeOpen(): void {
    if (this.#closing !== undefined) throw new GoneError("Cannot use the sandbox: it is closed");
  }
}

/** The process that began a plan has ended, or executed, by now. */
function reapBeginner(running: Running): Running {
  wait(running.child.pid);
  closeQuietly(running.child.pidfd);
  return running;
}

function isFull({ freeBytes, freeFiles }: FileSystemStatus): boolean {
  return freeBytes < PAGE_BYTES || freeFiles === 0;
}

/** Counts the processes and threads that a procfs shows. */
function countTasks(proc: string): number {
  const pids = [...Deno.readDirSync(proc)].filter(({ name }) => /^\d+$/.test(name));
  return pids.reduce((sum, { name }) => sum + countThreads(`${proc}/${name}/task`), 0);
}

function countThreads(dir: string): number {
  try {
    return Deno.statSync(dir).nlink! - 2; // the directory's own
  } catch {
    return 0; // it has ended
  }
}

/** The table, its strings, and each candidate's path. */
function sizeOf(program: Program): number {
  const strings = [...program.argv, ...program.env, ...candidates(program), program.workdir];
  const bytes = strings.reduce((sum, text) => sum + 3 * text.length + 16, 0);
  return 64 * 1024 + bytes + 128 * strings.length;
}

/** The table of an act, with the rooms that its steps fill. */
function roomOf(steps: Plan): number {
  const sizes = steps.flatMap(({ args }) => args).map((argument) => {
    if (typeof argument === "string") return 3 * argument.length + 16;
    if (typeof argument !== "object" || argument === null) return 0;
    if ("room" in argument) return argument.size + 16;
    return 256;
  });
  return 32 * 1024 + 128 * steps.length + sizes.reduce((sum, size) => sum + size, 0);
}

/** Moves a descriptor out of the way of those that a plan sets. */
function liftFd(fd: number): number {
  if (fd >= FIRST_FREE_FD) return fd;
  const lifted = fetch(fd);
  closeQuietly(fd);
  return lifted;
}

const answerBytes = new Uint8Array(64 * 1024);

/** Reads what each attempt to execute answered, in order; nothing if one succeeded. */
function readAnswers(executed: number): number[] {
  const count = read(executed, answerBytes);
  const view = new DataView(answerBytes.buffer);
  return Array.from({ length: count >> 3 }, (_, i) => Number(view.getBigInt64(8 * i, true)))
    .reverse();
}
