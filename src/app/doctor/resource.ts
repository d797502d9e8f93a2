/** Checks of what sandboxes use up: disk, terminals, memory. */
import { dirname } from "@std/path/dirname";
import { format as formatBytes } from "@std/fmt/bytes";
import { DEFAULT_LIMITS, freeSpace } from "../../sandbox/mod.ts";
import { Terminal } from "../../session/mod.ts";
import { caution, type Finding, pass, skipped } from "./finding.ts";
import type { Probe } from "./probe.ts";
import { withSmallSandbox } from "./small_sandbox.ts";

/** An unpacked environment has so many bytes and files. */
const ENOUGH_BYTES = 2 * 2 ** 30;
const ENOUGH_FILES = 100_000;

/** Checks of resources. */
export const resourceProbes: readonly Probe[] = [
  {
    check: "disk space",
    lost: "Layers cannot be unpacked.",
    examine: ({ store }) => judgeSpace("disk space", store.dir, freeSpace(store.dir)),
  },
  {
    check: "space of the upper",
    lost: "What sandboxes write cannot be kept there.",
    examine: ({ wish: { upperDir } }) => {
      const check = "space of the upper";
      if (upperDir === undefined) return skipped(check, "it lies in the store");
      return judgeSpace(check, upperDir, freeSpace(nearestDirectory(upperDir)));
    },
  },
  {
    check: "terminals",
    needsSandbox: true,
    lost: "run --tty cannot be used.",
    examine: async (subject) => {
      await withSmallSandbox(
        subject,
        { upper: { kind: "tmpfs", sizeBytes: null } },
        (sandbox) => {
          const { input, output } = new Terminal(sandbox.openPty().master, {
            rows: 24,
            columns: 80,
          });
          input.close();
          output.close();
        },
      );
      return pass("terminals", "work: each sandbox has a /dev/pts of its own");
    },
  },
  {
    check: "/dev/shm",
    needsSandbox: true,
    lost: "Sandboxes cannot be made.",
    examine: async (subject) => {
      await withSmallSandbox(subject, { upper: { kind: "tmpfs", sizeBytes: null } });
      const { available } = Deno.systemMemoryInfo();
      return judgeSharedMemory(available, DEFAULT_LIMITS.shmBytes!, subject.wish.sandboxes);
    },
  },
];

/** Judges the space that is left for a directory. */
export function judgeSpace(
  check: string,
  dir: string,
  { bytes, files }: { readonly bytes: number; readonly files: number | null },
): Finding {
  const count = files === null ? "files without a bound" : `${files} files`;
  const found = `${formatBytes(bytes, { binary: true })} and ${count} free in "${dir}"`;
  if (bytes >= ENOUGH_BYTES && (files ?? Infinity) >= ENOUGH_FILES) {
    return pass(check, found);
  }
  return caution(check, found, {
    lost: "A large environment may not fit.",
    remedy: "minisandbox layer list, then minisandbox layer remove KEY; or --store DIR elsewhere.",
  });
}

/** Judges the memory that is left for what sandboxes put into /dev/shm, each up to its limit. */
export function judgeSharedMemory(available: number, each: number, sandboxes: number): Finding {
  const size = (bytes: number) => formatBytes(bytes, { binary: true });
  const found = `each sandbox has its own, up to ${size(each)}; ${
    size(available)
  } of memory is free`;
  if (available >= each) return pass("/dev/shm", found);
  return caution("/dev/shm", found, {
    lost: "A sandbox that fills it takes the host's last memory.",
    remedy: `--shm-size ${size(available / sandboxes).replaceAll(/[ iB]/g, "")}`,
  });
}

/** The upper's directory may not be there yet. */
function nearestDirectory(dir: string): string {
  try {
    Deno.statSync(dir);
    return dir;
  } catch {
    return dirname(dir) === dir ? dir : nearestDirectory(dirname(dir));
  }
}
