/** Limits as the files of cgroups take them. */
import { DEFAULT_LIMITS, type Limits } from "../limit.ts";
import { type Controller, CONTROLLERS } from "./hierarchy.ts";

/** A file of a cgroup, and what is written to it. */
export interface Setting {
  readonly file: string;
  readonly text: string;
}

/** The period of a processor limit, in microseconds. */
const PERIOD_US = 100_000;

/** Processes of ours in a sandbox's cgroups: its init, and one that is about to start a program. */
const OWN_PIDS = 2;

/**
 * Lists the controllers that limits need. The usual number of processes is left to RLIMIT_NPROC: to
 * join a cgroup takes 0.2 to 10 ms, for the kernel waits until all processors have seen it. But the
 * host's root has no such limit.
 */
export function neededControllers(limits: Limits, isHostRoot: boolean): Controller[] {
  const { memoryBytes, swapBytes, cpus, cpuWeight, pids } = limits;
  const isNeeded: Record<Controller, boolean> = {
    memory: memoryBytes !== null || swapBytes !== null,
    pids: pids !== null && (isHostRoot || pids !== DEFAULT_LIMITS.pids),
    cpu: cpus !== null || cpuWeight !== null,
  };
  return CONTROLLERS.filter((name) => isNeeded[name]);
}

/**
 * Gives what a controller of version 2 is told. When memory is short the kernel ends one process, as
 * in version 1: to end them all would end init too.
 */
export function unifiedSettings(controller: Controller, limits: Limits): Setting[] {
  const { memoryBytes, swapBytes, cpus, cpuWeight, pids } = limits;
  switch (controller) {
    case "memory":
      return [
        ...set("memory.max", memoryBytes),
        ...set("memory.swap.max", swapBytes ?? (memoryBytes === null ? null : 0)),
      ];
    case "pids":
      return pidsMax(pids);
    case "cpu":
      return [
        ...set("cpu.max", cpus === null ? null : `${quota(cpus)} ${PERIOD_US}`),
        ...set("cpu.weight", cpuWeight),
      ];
  }
}

/** Gives what a controller of version 1 is told, in the order that it accepts. */
export function legacySettings(controller: Controller, limits: Limits): Setting[] {
  const { memoryBytes, swapBytes, cpus, cpuWeight, pids } = limits;
  switch (controller) {
    case "memory":
      return [
        ...set("memory.limit_in_bytes", memoryBytes),
        ...set(
          "memory.memsw.limit_in_bytes",
          memoryBytes === null ? null : memoryBytes + (swapBytes ?? 0),
        ),
      ];
    case "pids":
      return pidsMax(pids);
    case "cpu":
      return [
        ...set("cpu.cfs_period_us", cpus === null ? null : PERIOD_US),
        ...set("cpu.cfs_quota_us", cpus === null ? null : quota(cpus)),
        // 100 is the usual weight of version 2, 1024 the usual shares of version 1.
        ...set(
          "cpu.shares",
          cpuWeight === null ? null : Math.max(2, Math.round(cpuWeight * 10.24)),
        ),
      ];
  }
}

function pidsMax(pids: number | null): Setting[] {
  return set("pids.max", pids === null ? null : pids + OWN_PIDS);
}

function set(file: string, value: number | string | null): Setting[] {
  return value === null ? [] : [{ file, text: String(value) }];
}

/** The kernel takes no quota below a millisecond. */
function quota(cpus: number): number {
  return Math.max(1000, Math.round(cpus * PERIOD_US));
}
