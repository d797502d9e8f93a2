/** Plans a process in a running sandbox: from outside to its first instruction, as data. */
import { AT, CLONE, IOCTL, O, SIGNAL } from "../../ffi/mod.ts";
import {
  confine,
  dropCapabilities,
  type Hardening,
  hideMemory,
  USUAL_HARDENING,
} from "./harden.ts";
import type { Standing } from "./identity.ts";
import {
  becomeRoot,
  cloneInside,
  CWD,
  enterHolder,
  forkInside,
  leaveFiles,
  limitResource,
  openCgroups,
  resetSignals,
  setStdio,
} from "./process_step.ts";
import { limitQuotas, type Quotas } from "./quota.ts";
import { bytes, fd, flags, mode, named, output, type Plan, type Step, step } from "./step.ts";

/** A program to be started. */
export interface Program {
  /** What is executed, or looked for in `searchPath` if it holds no slash. */
  readonly argv: readonly [string, ...string[]];
  /** The whole environment, `K=V`. */
  readonly env: readonly string[];
  /** The directories to look in. */
  readonly searchPath: readonly string[];
  readonly workdir: string;
  readonly uid: number;
  readonly gid: number;
  /** Groups beside `gid`. */
  readonly groups: readonly number[];
  /** What it may and may not do, if not the usual. */
  readonly hardening?: Hardening;
  /** The pty it is on, by number, or null for the descriptors `stdin`, `stdout`, `stderr`. */
  readonly pty: number | null;
  /** Whether there is a `stdin`; else it reads nothing. */
  readonly hasStdin: boolean;
}

/** Limits of each process. */
export interface ProcessLimits {
  /** Processes of its user (RLIMIT_NPROC), where no cgroup counts them. */
  readonly processes: number | null;
  readonly openFiles: number | null;
  readonly fileBytes: number | null;
  readonly cpuSeconds: number | null;
}

/** What a plan depends on beside the program. */
export interface ProcessFacts {
  /** Whether id 0 exists inside; a single id may be shown as another. */
  readonly mapsRoot: boolean;
  readonly standing: Standing;
  /** Whether the sandbox has a network namespace of its own; the host's is not for us to enter. */
  readonly hasNetwork: boolean;
  readonly lastCapability: number;
  /** The files of the sandbox's cgroups to which a process writes to join. */
  readonly joinFiles: readonly string[];
  /** Whether one of them limits memory. */
  readonly hasMemoryLimit: boolean;
  readonly limits: ProcessLimits;
  /** What one sandbox may have of its user's quotas. */
  readonly quotas: Quotas;
  /** The soft and hard limit of open files that programs get, unless they are given fewer. */
  readonly openFiles: { readonly soft: number; readonly hard: number };
  /** The limit of core files: one byte where the host would hand them to a program of its own. */
  readonly coreLimit: 0 | 1;
  /** Signals that we ignore, and programs shall not. */
  readonly ignoredSignals: readonly number[];
  /** How likely it is ended when the host runs out of memory: -1000 to 1000. */
  readonly oomScore: number;
}

/** Namespaces of a sandbox that its processes enter by the descriptor of its init. */
const NAMESPACES = [
  CLONE.CLONE_NEWNS,
  CLONE.CLONE_NEWPID,
  CLONE.CLONE_NEWIPC,
  CLONE.CLONE_NEWUTS,
  CLONE.CLONE_NEWCGROUP,
];

/** The descriptor by which the exec program says how it fared: it ends when the program begins. */
const EXECUTED = 3;

/** The descriptor of the exec program itself. */
const EXEC = 4;

/** The first descriptor that `planProcess` does not set: those it is given for these lie above. */
export const FIRST_FREE_FD = 5;

/** Where the descriptors stand by which a process joins cgroups: no other is likely to have these. */
const FIRST_CGROUP_FD = 250;

/** The name of the step that hands over to the exec program. */
export const EXECUTE = "execute the program";

/**
 * Plans the process `pid`. It is not waited for as a vfork: a program inside could stop it before
 * it executes, and us with it.
 *
 * Programs inside see it from the clone on. So it is confined before, and has by then no descriptor of
 * ours: neither for a working directory such as /proc/self/fd/7 to lead out by (CVE-2024-21626), nor
 * to keep open what ends when we do, should it be stopped.
 *
 * It joins the sandbox's cgroups itself, and none that shares our memory joins one that limits memory:
 * at the limit the kernel would take ours for its own, and end us for it.
 */
export function planProcess(program: Program, facts: ProcessFacts): Plan {
  const { uid, gid, groups, pty, hardening = USUAL_HARDENING } = program;
  return [
    ...leaveFiles(),
    ...openCgroups(facts.joinFiles),
    ...enterHolder({ ...facts.standing, canSetGroups: false }),
    enterInit(...NAMESPACES, ...(facts.hasNetwork ? [CLONE.CLONE_NEWNET] : [])),
    ...enterPair(facts),
    ...(pty === null ? connectStreams(program) : openTerminal(pty)),
    ...dropCapabilities(facts.lastCapability, hardening.capabilities),
    ...(facts.standing.canSetGroups ? [setGroups(groups)] : []),
    ...confine(hardening),
    ...(facts.mapsRoot && gid === 0
      ? []
      : [step("become the group", "setresgid", [gid, gid, gid])]),
    ...(facts.mapsRoot && uid === 0 ? [] : [step("become the user", "setresuid", [uid, uid, uid])]),
    ...hideMemory(),
    step("set the umask", "umask", [mode(0o22)]),
    step("set the descriptor of what is told", "dup3", [fd("executed"), EXECUTED, 0]),
    step("set the descriptor of exec", "dup3", [fd("exec"), EXEC, flags(O, O.O_CLOEXEC)]),
    ...handOver(facts),
    step("lead a session", "setsid", []),
    ...(pty === null ? [] : [
      step("make it the controlling terminal", "ioctl", [0, named(IOCTL, "TIOCSCTTY"), 0]),
    ]),
    ...limitResources(facts),
    step("enter the working directory", "chdir", [program.workdir]),
    ...resetSignals(facts.ignoredSignals),
    execute(program, facts),
  ];
}

/** Plans steps among the mounts of a sandbox, as the holder's root; what they open is ours. */
export function planInside(facts: Pick<ProcessFacts, "standing">, steps: Plan): Plan {
  return [
    ...enterHolder({ ...facts.standing, canSetGroups: false }),
    enterInit(CLONE.CLONE_NEWNS),
    ...steps,
  ];
}

/** The opening of a new pty inside, as the output `master`. */
export function openPtySteps(): Plan {
  return [
    step("open a pty", "openat", [
      CWD,
      "/dev/ptmx",
      flags(O, O.O_RDWR, O.O_NOCTTY, O.O_CLOEXEC),
      0,
    ], { output: "master" }),
  ];
}

/** The opening of directories inside, only to ask about them; each is an output by its path. */
export function openPlaceSteps(paths: readonly string[]): Plan {
  return paths.map((path) =>
    step(`open ${path}`, "openat", [CWD, path, flags(O, O.O_PATH, O.O_CLOEXEC), 0], {
      output: path,
    })
  );
}

/** Plans the end of everything inside but init, at one moment: nothing can be made meanwhile. */
export function planEndAll(facts: Pick<ProcessFacts, "standing">): Plan {
  return [
    ...enterHolder({ ...facts.standing, canSetGroups: false }),
    enterInit(CLONE.CLONE_NEWPID),
    cloneInside("make a process inside"),
    step("end all others", "kill", [-1, named(SIGNAL, "SIGKILL")]),
  ];
}

/** Lists the paths at which a command is looked for, in order. */
export function candidates({ argv, searchPath }: Program): string[] {
  const [command] = argv;
  if (command.includes("/")) return [command];
  return searchPath.map((dir) => `${dir === "" ? "." : dir}/${command}`);
}

/**
 * The exec program tries the candidates once nothing of ours is left in the process; in it, a script
 * that names /proc/self/exe as its interpreter gets no file of ours (CVE-2019-5736). It also sets the
 * score: before, /proc/self belongs to the host's root, since our memory is hidden.
 */
function execute(program: Program, { oomScore }: ProcessFacts): Step {
  const { argv, env } = program;
  return step(EXECUTE, "execveat", [
    EXEC,
    "",
    { vector: [String(oomScore).padEnd(5), ...candidates(program), "", ...argv] },
    { vector: env, shown: `[/* ${env.length} variables */]` },
    flags(AT, AT.AT_EMPTY_PATH),
  ]);
}

/** Enters the user namespace that programs are in, and becomes its root. */
export function enterPair(
  { standing, mapsRoot }: Pick<ProcessFacts, "standing" | "mapsRoot">,
): Plan {
  if (!standing.hasUserNamespace) return [];
  return [
    step("enter the sandbox's user namespace", "setns", [
      fd("pair-user"),
      flags(CLONE, CLONE.CLONE_NEWUSER),
    ]),
    ...(mapsRoot ? becomeRoot({ canSetGroups: false }) : hideMemory()),
  ];
}

/** Enters namespaces of the sandbox's init. */
export function enterInit(...namespaces: number[]): Step {
  return step("enter the sandbox", "setns", [fd("init"), flags(CLONE, ...namespaces)]);
}

/** /dev/null is the sandbox's own: the host's, by descriptor, could be given another mode. */
function connectStreams({ hasStdin }: Program): Plan {
  if (hasStdin) return setStdio(fd("stdin"), fd("stdout"), fd("stderr"));
  return [
    step("open nothing", "openat", [CWD, "/dev/null", 0, 0], { output: "nothing" }),
    ...setStdio(output("nothing"), fd("stdout"), fd("stderr")),
  ];
}

function openTerminal(number: number): Step[] {
  return [
    step("open the terminal", "openat", [
      CWD,
      `/dev/pts/${number}`,
      flags(O, O.O_RDWR, O.O_NOCTTY),
      0,
    ], { output: "terminal" }),
    step("set descriptor 0", "dup3", [output("terminal"), 0, 0]),
    step("set descriptor 1", "dup3", [0, 1, 0]),
    step("set descriptor 2", "dup3", [0, 2, 0]),
  ];
}

/** Makes the process, which has no descriptor of ours but those by which it joins its cgroups. */
function handOver({ joinFiles, hasMemoryLimit }: ProcessFacts): Plan {
  const make = (hasMemoryLimit ? forkInside : cloneInside)("make the process");
  if (joinFiles.length === 0) return [closeRange(FIRST_FREE_FD), make];
  const joins = joinFiles.map((_, i) => FIRST_CGROUP_FD + i);
  return [
    ...joins.map((fd, i) =>
      step("set the descriptor of a cgroup", "dup3", [output(`cgroup-${i}`), fd, 0])
    ),
    closeRange(FIRST_FREE_FD, FIRST_CGROUP_FD - 1),
    closeRange(FIRST_CGROUP_FD + joins.length),
    make,
    ...joins.map((fd) => step("join the cgroup", "write", [fd, bytes("0"), 1])),
    closeRange(FIRST_FREE_FD),
  ];
}

function closeRange(first: number, last = 0xffff_ffff): Step {
  return step("close all others", "close_range", [first, last, 0]);
}

function limitResources({ openFiles, coreLimit, limits, quotas }: ProcessFacts): Step[] {
  const { processes, fileBytes, cpuSeconds } = limits;
  const soft = Math.min(limits.openFiles ?? openFiles.soft, openFiles.hard);
  const hard = Math.min(limits.openFiles ?? openFiles.hard, openFiles.hard);
  return [
    limitResource("RLIMIT_NOFILE", soft, hard),
    limitResource("RLIMIT_CORE", coreLimit),
    ...limitQuotas(quotas),
    ...(processes === null ? [] : [limitResource("RLIMIT_NPROC", processes)]),
    ...(fileBytes === null ? [] : [limitResource("RLIMIT_FSIZE", fileBytes)]),
    // The soft limit is told by SIGXCPU; who goes on a second longer is killed.
    ...(cpuSeconds === null ? [] : [limitResource("RLIMIT_CPU", cpuSeconds, cpuSeconds + 1)]),
  ];
}

function setGroups(groups: readonly number[]): Step {
  const list = new Uint32Array(groups.length + 1);
  list.set(groups);
  return step("set the groups", "setgroups", [
    groups.length,
    { bytes: new Uint8Array(list.buffer), shown: `[${groups.join(", ")}]` },
  ]);
}
