/** What plans depend on, taken from the host's facts. */
import type { Host } from "./host.ts";
import type { Layout } from "./layout.ts";
import { MAX_LOWERS } from "./holder_plan.ts";
import type { ProcessFacts, Program } from "./process_plan.ts";
import type { PlanFacts } from "./sandbox_plan.ts";

/** Gives what plans of sandboxes depend on. */
export function planFacts(host: Host): PlanFacts {
  return {
    isRoot: host.identity.kind === "root",
    canSetGroups: host.identity.kind !== "single",
    lastCapability: host.lastCapability,
    hidden: host.hidden,
    spareFd: host.openFiles.hard - MAX_LOWERS,
  };
}

/** Gives what plans of a program depend on. */
export function processFacts(
  host: Host,
  program: Pick<Program, "uid" | "gid">,
  network: Layout["network"],
): ProcessFacts {
  const { identity, lastCapability, openFiles, coreLimit, ignoredSignals } = host;
  return {
    mapsRoot: identity.kind !== "single" || (program.uid === 0 && program.gid === 0),
    canSetGroups: identity.kind !== "single",
    hasNetwork: network !== "host",
    lastCapability,
    openFiles,
    coreLimit,
    ignoredSignals,
  };
}
