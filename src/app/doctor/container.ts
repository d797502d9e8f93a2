/** Check of the container that we are in, if it is one of Docker. */
import {
  type Docker,
  dockerRemedy,
  fileSystemOf,
  parseMountPoints,
  readDocker,
  storeOptions,
} from "../../sandbox/mod.ts";
import { caution, fail, type Finding, pass, skipped } from "./finding.ts";
import type { Probe } from "./probe.ts";
import type { Subject } from "./subject.ts";

/** What of a container keeps sandboxes from being made. */
export interface ContainerFacts {
  /** Null outside of any. */
  readonly docker: Docker | null;
  /** Whether the engine can be opened. */
  readonly hasHolder: boolean;
  /** What is mounted over parts of /proc. */
  readonly covers: readonly string[];
  readonly storeDir: string;
  /** The file system of the store; null where it cannot be made. */
  readonly storeType: string | null;
}

/** Check of the container. */
export const containerProbe: Probe = {
  check: "container",
  lost: "Sandboxes cannot be made.",
  examine: (subject) =>
    judgeContainer({
      docker: readDocker(),
      hasHolder: subject.hasHolder,
      covers: parseMountPoints(Deno.readTextFileSync("/proc/self/mountinfo"))
        .filter((path) => path.startsWith("/proc/")),
      storeDir: subject.storeDir,
      storeType: storeType(subject),
    }),
};

/** Judges whether a container was started so that sandboxes can be made in it. */
export function judgeContainer(facts: ContainerFacts): Finding {
  const { docker, hasHolder, covers, storeDir, storeType } = facts;
  const check = "container";
  if (docker === null) return skipped(check, "not one of Docker");
  if (!hasHolder) {
    const profile = docker.profile === null ? [] : [`the profile ${docker.profile} of AppArmor`];
    const proc = covers.length === 0 ? [] : [`what covers ${covers.join(", ")}`];
    const reasons = ["Docker's filter of system calls", ...profile, ...proc].join(" or ");
    return fail(check, `Docker: sandboxes are kept from being made by ${reasons}`, {
      lost: "Sandboxes cannot be made.",
      remedy: dockerRemedy(docker),
    });
  }
  if (storeType !== "overlay") return pass(check, "Docker, started so that sandboxes can be made");
  return caution(check, `Docker: the store "${storeDir}" lies in the container's own overlay`, {
    lost: "Without --upper-dir DIR on a volume or --upper tmpfs, sandboxes cannot be made.",
    remedy: `docker run ${storeOptions(docker)} …`,
  });
}

function storeType(subject: Subject): string | null {
  try {
    return fileSystemOf(subject.store.dir);
  } catch {
    return null;
  }
}
