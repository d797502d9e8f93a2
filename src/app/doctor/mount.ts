/** Checks of mounts: overlays on the file systems that are used, mapped ids, what covers what. */
import {
  cutHostTree,
  fileSystemOf,
  type HostTree,
  listDirectory,
  parseMountPoints,
  probeMemoryXattr,
} from "../../sandbox/mod.ts";
import { SetupError } from "../../errors.ts";
import { caution, fail, type Finding, pass, skipped } from "./finding.ts";
import { explain, type Probe } from "./probe.ts";
import { withSmallSandbox } from "./small_sandbox.ts";

/** Checks of mounts. */
export const mountProbes: readonly Probe[] = [
  {
    check: "/proc",
    lost: "Sandboxes cannot be made.",
    examine: (subject) => {
      const covers = readMountPoints().filter((path) => path.startsWith("/proc/"));
      const found = covers.length === 0 ? "fully visible" : `covered: ${covers.join(", ")}`;
      try {
        subject.engine; // mounts one, which the kernel refuses where the host's is covered
        return pass("/proc", found);
      } catch (error) {
        if (!(error instanceof SetupError && error.step.includes("proc"))) {
          return skipped("/proc", "there is no holder");
        }
        return fail("/proc", found, explain(error, "Sandboxes cannot be made.")[1]);
      }
    },
  },
  {
    check: "overlay on the store",
    needsSandbox: true,
    lost: "Without --upper-dir DIR on a local disk or --upper tmpfs, sandboxes cannot be made.",
    examine: async (subject) => {
      await withSmallSandbox(subject, { upper: { kind: "disk", dir: null } });
      return pass("overlay on the store", `works in "${subject.storeDir}" (${typeOf(subject)})`);
    },
  },
  {
    check: "overlay on the upper",
    needsSandbox: true,
    lost: "What sandboxes write cannot be kept there.",
    examine: async (subject) => {
      const { upperDir } = subject.wish;
      if (upperDir === undefined) {
        return skipped("overlay on the upper", "it lies in the store; --upper-dir names another");
      }
      await withSmallSandbox(subject, { upper: { kind: "disk", dir: upperDir } });
      return pass("overlay on the upper", `works in "${upperDir}" (${fileSystemOf(upperDir)})`);
    },
  },
  {
    check: "tmpfs upper",
    needsSandbox: true,
    lost: "--upper tmpfs cannot be used.",
    examine: async (subject) => {
      await withSmallSandbox(subject, { upper: { kind: "tmpfs", sizeBytes: null } });
      const answer = probeMemoryXattr();
      if (answer === null) return pass("tmpfs upper", "works, with the attributes it needs");
      return caution("tmpfs upper", `mounts, but refuses user attributes: ${answer}`, {
        lost: "With --upper tmpfs, a directory that is removed and made again gives I/O errors.",
        remedy: "Install a kernel of version 6.6 or newer, or use --upper disk.",
      });
    },
  },
  {
    check: "id-mapped mounts",
    needsSandbox: true,
    lost: "Started by root, a sandbox cannot be laid over the host's /usr.",
    examine: ({ host, engine }) => {
      const check = "id-mapped mounts";
      if (host.identity.kind !== "root") {
        return skipped(check, "only root uses them; users lay their own directories over /usr");
      }
      return judgeIdMapping(engine.canMapIds("/usr"), host.mountsOutside, fileSystemOf("/usr"));
    },
  },
  {
    check: "mounts under /usr",
    lost: "--base host cannot be used.",
    examine: () => judgeHostTree(cutHostTree(listDirectory, readMountPoints()), readMountPoints()),
  },
];

/** Judges whether root's sandboxes can have the owners of /usr shifted into their range. */
export function judgeIdMapping(isPossible: boolean, mayMount: boolean, type: string): Finding {
  const check = "id-mapped mounts";
  if (isPossible) return pass(check, "work on /usr");
  const found = mayMount
    ? `the file system of /usr (${type}) has none`
    : "root lacks CAP_SYS_ADMIN, as in a container";
  return caution(check, found, {
    lost: "Files of the host's /usr cannot be written into, renamed or given other modes in " +
      "place; they can be replaced and removed.",
    remedy: mayMount
      ? "Have /usr on ext4, xfs or btrfs and Linux 5.19 or newer, or give --base DIR on such a disk."
      : "docker run --cap-add SYS_ADMIN …, with --base DIR on a volume",
  });
}

/** Judges what of the host's system directories can be written over. */
export function judgeHostTree(tree: HostTree, mountPoints: readonly string[]): Finding {
  const check = "mounts under /usr";
  const shown = tree.binds.map(({ path }) => path);
  if (shown.length === 0) return pass(check, "none: all of it can be changed inside");
  const causes = mountPoints.filter((point) =>
    [...shown, ...tree.directories].some((path) => point === path || point.startsWith(`${path}/`))
  );
  return caution(check, `${causes.length}: ${causes.join(", ")}`, {
    lost: `Read-only inside: ${shown.join(", ")}.`,
    remedy: causes.map((path) => `umount ${path}`).join("; "),
  });
}

function readMountPoints(): string[] {
  return parseMountPoints(Deno.readTextFileSync("/proc/self/mountinfo"));
}

function typeOf({ storeDir }: { readonly storeDir: string }): string {
  return fileSystemOf(storeDir);
}
