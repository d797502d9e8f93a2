/**
 * Plans a hull: all of a sandbox but its root, so that it can be made before one is asked for. Its
 * namespaces and init; /dev, /tmp, /run, /proc and the parts below the root, which wait for it.
 */
import { CLONE, MS } from "../../ffi/mod.ts";
import { confineInit, dropCapabilities } from "./harden.ts";
import type { HullWish } from "./layout.ts";
import type { Standing } from "./identity.ts";
import type { Limits } from "./limit.ts";
import type { Network } from "./network_plan.ts";
import {
  cleanUp,
  cloneInside,
  executeInit,
  joinCgroups,
  leaveFiles,
  leaveOwner,
  setStdio,
} from "./process_step.ts";
import { fd, flags, type Plan, type Step, step } from "./step.ts";
import {
  joinParts,
  type Material,
  mountTmpfs,
  mountUpper,
  openTrees,
  sized,
  type TreeFacts,
} from "./tree_plan.ts";

/** What a plan depends on beside the layout. */
export interface PlanFacts extends TreeFacts {
  /** The number of the kernel's last capability. */
  readonly lastCapability: number;
  /** Entries of /proc to hide, of those that this kernel has. */
  readonly hidden: readonly HiddenPath[];
  /** The files of the sandbox's cgroups to which a process writes to join. */
  readonly joinFiles: readonly string[];
}

/** An entry of /proc that is covered by an empty file or directory. */
export interface HiddenPath {
  readonly name: string;
  readonly isDirectory: boolean;
}

/** Where what is mounted for a sandbox waits for its root: the place inside, and in the template. */
export const SYSTEM_PLACES = {
  dev: "/t/dev",
  tmp: "/t/tmp",
  run: "/t/run",
  proc: "/t/self",
} as const;

/** An empty directory, which nobody can write to. */
export const EMPTY = "/t/empty";

/** Plans the hull; its init is the process `pid`. */
export function planHull(wish: HullWish, facts: PlanFacts): Plan {
  const { opens, mounts } = gatherHull(wish, facts);
  return [
    ...leaveFiles(),
    ...leaveOwner(),
    ...joinCgroups(facts.joinFiles),
    ...openTrees(opens, facts),
    ...makeNamespaces(),
    ...mounts,
    step("leave it all to programs", "chroot", [EMPTY]),
    step("enter an empty root", "chdir", ["/"]),
    ...becomeInit(wish.network, facts),
  ];
}

/** What is mounted in a hull, each where it waits. */
export function gatherHull(
  { upper, below, limits }: Pick<HullWish, "upper" | "below" | "limits">,
  facts: PlanFacts,
): Material {
  const own = mountUpper(upper, 1 + below.length);
  const parts = joinParts(below, { first: 0, number: 1, spareFd: facts.spareFd });
  return {
    opens: [...parts.opens, ...own.opens],
    mounts: [...mountSystem(facts, limits), ...own.mounts, ...parts.mounts],
  };
}

/** Goes on as the first process in the namespaces of a sandbox, among the template's mounts. */
export function makeNamespaces(): Plan {
  return [
    step("enter the template", "setns", [fd("template"), flags(CLONE, CLONE.CLONE_NEWNS)]),
    step("make the sandbox's namespaces", "unshare", [
      flags(
        CLONE,
        CLONE.CLONE_NEWNS,
        CLONE.CLONE_NEWPID,
        CLONE.CLONE_NEWIPC,
        CLONE.CLONE_NEWUTS,
        CLONE.CLONE_NEWCGROUP,
      ),
    ]),
    cloneInside("make the first process", CLONE.CLONE_VFORK),
  ];
}

/** Mounts what every sandbox has. */
function mountSystem({ hidden, standing }: PlanFacts, limits: Limits): Step[] {
  const { dev, tmp, run, proc } = SYSTEM_PLACES;
  const quiet = flags(MS, MS.MS_NOSUID, MS.MS_NODEV, MS.MS_NOEXEC);
  return [
    step("mount /dev/pts", "mount", [
      "devpts",
      `${dev}/pts`,
      "devpts",
      flags(MS, MS.MS_NOSUID, MS.MS_NOEXEC),
      "newinstance,ptmxmode=0666,mode=620",
    ]),
    mountTmpfs("/dev/shm", `${dev}/shm`, `mode=1777${sized(limits.shmBytes)}`),
    mountTmpfs("/tmp", tmp, `mode=1777${sized(limits.tmpBytes)}`),
    mountTmpfs("/run", run, `mode=755${sized(limits.tmpBytes)}`),
    step("mount /proc", "mount", ["proc", proc, "proc", quiet, null]),
    // As long as one is whole, who has namespaces of his own can mount another: no host's root shall.
    ...(standing.hasUserNamespace ? [] : [cover("/t/null", "/t/proc/version", "the other /proc")]),
    cover("/t/sys", `${proc}/sys`, "/proc/sys"),
    ...hidden.map(({ name, isDirectory }) =>
      cover(isDirectory ? EMPTY : "/t/null", `${proc}/${name}`, `/proc/${name}`)
    ),
  ];
}

/** Executes init, in the network of its sandbox. */
export function becomeInit(network: Network, { lastCapability, standing }: PlanFacts): Plan {
  return [
    ...(network === "host" ? [] : [
      step("enter the sandbox's network namespace", "setns", [
        fd("pair-net"),
        flags(CLONE, CLONE.CLONE_NEWNET),
      ]),
    ]),
    step("lead a session", "setsid", []),
    ...setStdio(fd("alive"), fd("keep"), fd("null")),
    ...dropCapabilities(lastCapability, initCapabilities(standing)),
    ...confineInit(),
    ...cleanUp(),
    executeInit("init"),
  ];
}

/**
 * In one user namespace with programs, init needs a capability that they lack: who has not all that
 * another has cannot trace it (ptrace(2)).
 */
function initCapabilities({ hasUserNamespace }: Standing): ("CAP_SYS_PTRACE")[] {
  return hasUserNamespace ? [] : ["CAP_SYS_PTRACE"];
}

function cover(source: string, target: string, what: string): Step {
  return step(`cover ${what}`, "mount", [source, target, null, flags(MS, MS.MS_BIND), null]);
}
