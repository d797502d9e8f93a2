/** What plans depend on, taken from the host's facts. */
import type { Cgroup } from "./cgroup/group.ts";
import type { Host } from "./host.ts";
import { mapsRoot, standingOf } from "./identity.ts";
import type { Layout } from "./layout.ts";
import { MAX_LOWERS } from "./holder_plan.ts";
import { shareOf } from "./quota.ts";
import type { ProcessFacts, Program } from "./process_plan.ts";
import type { PlanFacts } from "./hull_plan.ts";

/** A table of descriptors is as long as the highest, and each sandbox's first process fills one. */
const MOST_FILES = 1024;

/** Gives what plans of sandboxes depend on. */
export function planFacts(host: Host, cgroup: Cgroup | null): PlanFacts {
  return {
    opensOutside: host.mountsOutside,
    standing: standingOf(host.identity),
    lastCapability: host.lastCapability,
    hidden: host.hidden,
    spareFd: Math.min(host.openFiles.hard, MOST_FILES) - MAX_LOWERS,
    joinFiles: cgroup?.joinFiles ?? [],
  };
}

/** By so much programs are likelier than we are to be ended when the host runs out of memory. */
const OOM_STEP = 100;

/** Gives what plans of a program depend on. */
export function processFacts(
  host: Host,
  program: Pick<Program, "uid" | "gid">,
  { network, limits }: Pick<Layout, "network" | "limits">,
  cgroup: Cgroup | null,
): ProcessFacts {
  const { pids, openFiles: files, fileBytes, cpuTimeMs } = limits;
  const { identity, lastCapability, openFiles, coreLimit, oomScore, ignoredSignals } = host;
  return {
    mapsRoot: mapsRoot(identity, program),
    standing: standingOf(identity),
    hasNetwork: network !== "host",
    lastCapability,
    openFiles,
    coreLimit,
    ignoredSignals,
    oomScore: Math.min(oomScore + OOM_STEP, 1000),
    joinFiles: cgroup?.joinFiles ?? [],
    hasMemoryLimit: cgroup !== null && (limits.memoryBytes ?? limits.swapBytes) !== null,
    quotas: shareOf(host.quotas),
    limits: {
      processes: cgroup?.countsPids ? null : pids,
      openFiles: files,
      fileBytes,
      cpuSeconds: cpuTimeMs === null ? null : Math.ceil(cpuTimeMs / 1000),
    },
  };
}
