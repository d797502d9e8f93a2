/** Checks of what the kernel counts for us: cgroups, and the time that tasks wait. */
import {
  CgroupParent,
  cgroupRemedy,
  type Controller,
  CONTROLLERS,
  type Docker,
  readDocker,
} from "../../sandbox/mod.ts";
import { caution, type Finding, pass } from "./finding.ts";
import type { Probe } from "./probe.ts";
import { readText } from "./sysctl.ts";

const RESOURCES = ["cpu", "io", "memory"];

/** Checks of cgroups and of pressure files. */
export const cgroupProbes: readonly Probe[] = [
  {
    check: "cgroups",
    lost: "--memory, --swap, --cpus and --cpu-weight cannot be used.",
    examine: () => {
      const parent = new CgroupParent();
      return judgeCgroups(
        CONTROLLERS.map((name) => [name, parent.find(name)?.version ?? parent.reason(name)]),
      );
    },
  },
  {
    check: "pressure",
    lost: "The I/O budget cannot see when tasks wait for the disk.",
    examine: () => judgePressure(RESOURCES.filter((name) => !readText(`/proc/pressure/${name}`))),
  },
];

/** What limits are held by a controller, as options. */
const OPTIONS: Readonly<Record<Controller, string>> = {
  memory: "--memory and --swap",
  pids: "--pids for a whole sandbox",
  cpu: "--cpus and --cpu-weight",
};

/**
 * Judges the controllers.
 *
 * @param controllers Each by the version of cgroups in which we may use it, or the reason why not.
 */
export function judgeCgroups(
  controllers: readonly (readonly [Controller, 1 | 2 | string])[],
  docker: Docker | null = readDocker(),
): Finding {
  const usable = controllers.filter(([, state]) => typeof state === "number");
  const missing = controllers.filter(([, state]) => typeof state === "string");
  const versions = usable.map(([name, version]) => `${name} (version ${version})`);
  if (missing.length === 0) return pass("cgroups", versions.join(", "));
  const reasons = [...new Set(missing.map(([, reason]) => reason))];
  return caution("cgroups", `${versions.join(", ") || "none can be used"}: ${reasons.join("; ")}`, {
    lost: `No ${missing.map(([name]) => OPTIONS[name]).join(", no ")}.`,
    remedy: cgroupRemedy(docker),
  });
}

/** Judges by the files of /proc/pressure that cannot be read. */
export function judgePressure(missing: readonly string[]): Finding {
  if (missing.length === 0) {
    return pass("pressure", `/proc/pressure tells of ${RESOURCES.join(", ")}`);
  }
  return caution("pressure", `/proc/pressure does not tell of ${missing.join(", ")}`, {
    lost: "--io-budget auto follows throughput alone: it cannot see when tasks wait for the disk.",
    remedy: "Start the kernel with psi=1; it needs CONFIG_PSI.",
  });
}
