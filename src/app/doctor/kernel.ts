/** Checks of the kernel: its version, the calls that plans use, its filter of system calls. */
import {
  type Answer,
  type Docker,
  dockerRemedy,
  findMissingCalls,
  probeSeccomp,
  readDocker,
} from "../../sandbox/mod.ts";
import { caution, fail, type Finding, pass, skipped } from "./finding.ts";
import type { Probe } from "./probe.ts";

const ALL = "Sandboxes cannot be made.";

/** The oldest kernels on which sandboxes can be made, and on which nothing is lost. */
const OLDEST = [5, 12] as const;
const COMPLETE = [6, 6] as const;

/** Checks of the kernel. */
export const kernelProbes: readonly Probe[] = [
  {
    check: "kernel",
    lost: ALL,
    examine: () => judgeKernel(Deno.osRelease()),
  },
  {
    check: "system calls",
    lost: ALL,
    examine: () => judgeCalls(findMissingCalls()),
  },
  {
    check: "seccomp",
    lost: ALL,
    examine: () => {
      if (findMissingCalls().includes("clone3")) {
        return skipped("seccomp", "no process can be made to try it");
      }
      return judgeFilter(probeSeccomp());
    },
  },
];

/** Judges a kernel by its release, such as `6.1.0-13-amd64`. */
export function judgeKernel(release: string): Finding {
  const found = `Linux ${release}`;
  if (isOlder(release, OLDEST)) {
    return fail("kernel", found, {
      lost: "Sandboxes cannot be made: mount calls are missing.",
      remedy: `Install a kernel of version ${OLDEST.join(".")} or newer, best ${
        COMPLETE.join(".")
      }.`,
    });
  }
  if (!isOlder(release, COMPLETE)) return pass("kernel", found);
  return caution("kernel", found, {
    lost: "Id-mapped layers (before 5.19) and --upper tmpfs (before 6.6) may not work.",
    remedy: `Install a kernel of version ${COMPLETE.join(".")} or newer.`,
  });
}

/** Judges by the calls that are missing: Docker's filter answers as a kernel without them. */
export function judgeCalls(
  missing: readonly string[],
  docker: Docker | null = readDocker(),
): Finding {
  if (missing.length === 0) return pass("system calls", "all that are needed are there");
  return fail("system calls", `missing: ${missing.join(", ")}`, {
    lost: ALL,
    remedy: docker === null
      ? `Install a kernel of version ${OLDEST.join(".")} or newer.`
      : dockerRemedy(docker),
  });
}

/** Judges by what the kernel said to the filter of programs. */
export function judgeFilter(answer: Answer): Finding {
  if (answer === null) return pass("seccomp", "a filter can be installed");
  return fail("seccomp", `a filter is refused: ${answer}`, {
    lost: ALL,
    remedy: "Use a kernel with CONFIG_SECCOMP_FILTER.",
  });
}

function isOlder(release: string, [major, minor]: readonly [number, number]): boolean {
  const [ownMajor = 0, ownMinor = 0] = release.split(/[.-]/).map(Number);
  return ownMajor < major || (ownMajor === major && ownMinor < minor);
}
