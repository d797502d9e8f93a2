/** Plans made once an engine, or once a pair of namespaces: everything before the first sandbox. */
import { CLONE, MNT, MS, O, S } from "../../ffi/mod.ts";
import {
  becomeRoot,
  cleanUp,
  cloneInside,
  CWD,
  enterHolder,
  executeInit,
  leaveFiles,
  limitResource,
  openOwnNamespace,
  setStdio,
} from "./process_step.ts";
import { hideMemory } from "./harden.ts";
import type { Standing } from "./identity.ts";
import { limitQuotas, limitWatchers, type Quotas } from "./quota.ts";
import { bringUp, type Network } from "./network_plan.ts";
import { bytes, fd, flags, mode, output, type Plan, type Step, step } from "./step.ts";

/** How many layers a sandbox may have, its base included: images have up to 127. */
export const MAX_LOWERS = 128;

/** How the template is made. */
export interface Template {
  /** For how many lowers it has room. */
  readonly lowers: number;
  /** Whether the host's mounts are left for good: Docker's filter refuses pivot_root(2) to all. */
  readonly pivots: boolean;
  /** What each user of the holder may have: of all sandboxes, or of one where each has its own. */
  readonly quotas: Quotas;
}

/** How it is made unless a sandbox has more lowers. */
export const USUAL_TEMPLATE: Omit<Template, "quotas"> = { lowers: 16, pivots: true };

/** The name of the step that Docker's filter refuses. */
export const PIVOT = "make it the root";

/** The device nodes that exist in a sandbox. */
const DEVICES = ["null", "zero", "full", "random", "urandom", "tty"];

/** Links in /dev, as everywhere on Linux. */
const DEVICE_LINKS = {
  ptmx: "pts/ptmx",
  fd: "/proc/self/fd",
  stdin: "fd/0",
  stdout: "fd/1",
  stderr: "fd/2",
};

/** Plans the holder: a process that does nothing but keep the user namespace of all sandboxes. */
export function planHolder(): Plan {
  return [
    ...setStdio(fd("alive"), fd("ready"), fd("null")),
    step("lead a session", "setsid", []),
    ...cleanUp(),
    executeInit("minisandbox-holder"),
  ];
}

/**
 * Plans the two mount namespaces that sandboxes come from: `host-mounts`, a copy of the host's
 * mounts in which the holder may open trees, and `template`, whose root is a small read-only tmpfs
 * with a /dev, a /proc of nobody, and empty mount points.
 */
export function planNamespaces(
  standing: Standing,
  { lowers, pivots, quotas }: Template,
): Plan {
  return [
    step("enter the holder's namespaces", "setns", [
      fd("holder"),
      flags(CLONE, ...userNamespace(standing), CLONE.CLONE_NEWPID),
    ]),
    ...becomeRoot(standing),
    ...(standing.hasUserNamespace ? limitWatchers(quotas) : []),
    step("copy the host's mounts", "unshare", [flags(CLONE, CLONE.CLONE_NEWNS)]),
    step("keep the copy from changing the host", "mount", [
      null,
      "/",
      null,
      flags(MS, MS.MS_REC, MS.MS_SLAVE),
      null,
    ]),
    openOwnNamespace("/proc", "mnt", "host-mounts"),
    step("copy the mounts again", "unshare", [flags(CLONE, CLONE.CLONE_NEWNS)]),
    step("detach the second copy", "mount", [
      null,
      "/",
      null,
      flags(MS, MS.MS_REC, MS.MS_PRIVATE),
      null,
    ]),
    cloneInside("enter the holder's pid namespace", CLONE.CLONE_VFORK, CLONE.CLONE_FILES),
    ...makeTemplate(lowers, pivots),
    openOwnNamespace("/t/proc", "mnt", "template"),
  ];
}

function userNamespace({ hasUserNamespace }: Standing): number[] {
  return hasUserNamespace ? [CLONE.CLONE_NEWUSER] : [];
}

function makeTemplate(lowers: number, pivots: boolean): Plan {
  const scratch = "/tmp"; // any directory: the tmpfs over it becomes the root
  return [
    mountTmpfs("the template's root", scratch, "mode=755,size=4m"),
    step("enter it", "chdir", [scratch]),
    ...["m", "u", "l", "t"].map(makeDirectory),
    ...["dev", "tmp", "run", "self", "proc", "sys", "empty"].map((it) => makeDirectory(`t/${it}`)),
    ...Array.from({ length: lowers }, (_, i) => makeDirectory(`l/${i}`)),
    ...makeDevices("t/dev"),
    makeFile("t/null"),
    ...bindDevice("null", "t/null"),
    mountTmpfs("an empty directory", "t/empty", "mode=555,size=4k"),
    makeReadOnly("t/empty", MS.MS_NOEXEC),
    step("mount a proc that shows nobody", "mount", [
      "proc",
      "t/proc",
      "proc",
      flags(MS, MS.MS_NOSUID, MS.MS_NODEV, MS.MS_NOEXEC),
      null,
    ]),
    bind("t/proc/sys", "t/sys"),
    makeReadOnly("t/sys", MS.MS_NODEV, MS.MS_NOEXEC),
    ...(pivots ? pivotRoot() : moveRoot()),
    makeReadOnly("/", MS.MS_NODEV),
  ];
}

function pivotRoot(): Step[] {
  return [
    step(PIVOT, "pivot_root", [".", "."]),
    step("detach the host's mounts", "umount2", [".", flags(MNT, MNT.MNT_DETACH)]),
  ];
}

/** The host's mounts stay, out of reach below: only who holds the namespace could uncover them. */
function moveRoot(): Step[] {
  return [
    step("move it over the root", "mount", [".", "/", null, flags(MS, MS.MS_MOVE), null]),
    step("change to it", "chroot", ["."]),
  ];
}

function makeDevices(directory: string): Step[] {
  return [
    mountTmpfs("the template of /dev", directory, "mode=755,size=64k"),
    ...DEVICES.flatMap((name) => [
      makeFile(`${directory}/${name}`),
      ...bindDevice(name, `${directory}/${name}`),
    ]),
    ...["pts", "shm"].map((name) => makeDirectory(`${directory}/${name}`)),
    ...Object.entries(DEVICE_LINKS).map(([name, target]) =>
      step(`link /dev/${name}`, "symlinkat", [target, CWD, `${directory}/${name}`])
    ),
    makeReadOnly(directory, MS.MS_NOEXEC),
  ];
}

/** A device can be written to all the same; what it is on the host, its mode above all, cannot. */
function bindDevice(name: string, target: string): Step[] {
  return [bind(`/dev/${name}`, target), makeReadOnly(target, MS.MS_NOEXEC)];
}

/** What all users of a pair may have together, and the holder's user who owns it. */
export interface PairLimit {
  /** Null where a cgroup counts them. */
  readonly processes: number | null;
  readonly owner: number;
}

/** Plans a process that keeps a new user and network namespace, brought up, until it is killed. */
export function planPair(
  standing: Standing,
  network: Network,
  { limit, quotas }: { readonly limit: PairLimit | null; readonly quotas: Quotas },
): Plan {
  return [
    ...leaveFiles(),
    ...enterHolder(standing),
    ...(limit === null ? [] : limitAllUsers(limit, quotas)),
    step("make a user and a network namespace", "unshare", [
      flags(CLONE, ...userNamespace(standing), CLONE.CLONE_NEWNET),
    ]),
    ...(standing.hasUserNamespace ? limitWatchers(quotas) : []),
    ...bringUp(network),
    ...setStdio(fd("alive"), fd("ready"), fd("null")),
    ...cleanUp(),
    executeInit("minisandbox-pair"),
  ];
}

/**
 * The kernel counts what runs in a user namespace to who made it, up to his limit then (since Linux
 * 5.14; before, each user is only limited for himself). So each pair is made by a user of its own.
 */
function limitAllUsers({ processes, owner }: PairLimit, quotas: Quotas): Plan {
  return [
    step("become the owner of the pair", "setresuid", [owner, owner, owner]),
    ...hideMemory(),
    ...(processes === null ? [] : [limitResource("RLIMIT_NPROC", processes)]),
    ...limitQuotas(quotas),
  ];
}

/** Plans the writing of a pair's id maps, from the namespace above it. */
export function planIdMaps(
  pid: number | "PID",
  maps: { readonly uids: string; readonly gids: string },
  standing: Standing,
): Plan {
  const writeFile = (name: string, text: string): Step[] => [
    step(`open ${name}`, "openat", [CWD, `/proc/${pid}/${name}`, flags(O, O.O_WRONLY), 0], {
      output: name,
    }),
    step(`write ${name}`, "write", [output(name), bytes(text), text.length]),
  ];
  return [
    ...leaveFiles(),
    ...enterHolder(standing),
    ...(standing.canSetGroups ? [] : writeFile("setgroups", "deny")),
    ...writeFile("uid_map", maps.uids),
    ...writeFile("gid_map", maps.gids),
  ];
}

function mountTmpfs(what: string, target: string, options: string): Step {
  return step(`mount ${what}`, "mount", [
    "tmpfs",
    target,
    "tmpfs",
    flags(MS, MS.MS_NOSUID),
    options,
  ]);
}

function makeDirectory(path: string): Step {
  return step(`make ${path}`, "mkdirat", [CWD, path, mode(0o755)]);
}

function makeFile(path: string): Step {
  return step(`make ${path}`, "mknodat", [CWD, path, mode(S.S_IFREG | 0o666), 0]);
}

function bind(source: string, target: string): Step {
  return step(`bind ${source}`, "mount", [source, target, null, flags(MS, MS.MS_BIND), null]);
}

function makeReadOnly(target: string, ...more: number[]): Step {
  return step(`make ${target} read-only`, "mount", [
    null,
    target,
    null,
    flags(MS, MS.MS_REMOUNT, MS.MS_BIND, MS.MS_RDONLY, MS.MS_NOSUID, ...more),
    null,
  ]);
}
