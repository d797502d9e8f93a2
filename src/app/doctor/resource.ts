/** Checks of what sandboxes use up: disk, descriptors, terminals, memory; and of cgroups. */
import { format as formatBytes } from "@std/fmt/bytes";
import { CgroupParent, type Controller, CONTROLLERS, freeSpace } from "../../sandbox/mod.ts";
import { Terminal } from "../../session/mod.ts";
import { caution, type Finding, pass } from "./finding.ts";
import type { Probe } from "./probe.ts";
import { withSmallSandbox } from "./small_sandbox.ts";
import { readSysctl } from "./sysctl.ts";

/** An unpacked environment has so many bytes and files. */
const ENOUGH_BYTES = 2 * 2 ** 30;
const ENOUGH_FILES = 100_000;

/** Descriptors of a sandbox with one command: namespaces, processes, a lock, three streams. */
const FDS_OF_SANDBOX = 9;

/** Descriptors of ours, those that plans number themselves included. */
const OWN_FDS = 128;

/** Checks of resources. */
export const resourceProbes: readonly Probe[] = [
  {
    check: "disk space",
    lost: "Layers cannot be unpacked.",
    examine: ({ store }) => judgeSpace(store.dir, freeSpace(store.dir)),
  },
  {
    check: "open files",
    lost: "Sandboxes cannot be made.",
    examine: ({ host, wish }) => judgeOpenFiles(host.openFiles.hard, wish.sandboxes),
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
      const max = readSysctl("kernel/pty/max");
      const used = readSysctl("kernel/pty/nr");
      return pass("terminals", `work; ${used ?? "?"} of the host's ${max ?? "?"} are in use`);
    },
  },
  {
    check: "/dev/shm",
    needsSandbox: true,
    lost: "Sandboxes cannot be made.",
    examine: async (subject) => {
      await withSmallSandbox(subject, { upper: { kind: "tmpfs", sizeBytes: null } });
      const size = formatBytes(Deno.systemMemoryInfo().total / 2, { binary: true });
      return pass("/dev/shm", `each sandbox has its own, of at most ${size}`);
    },
  },
  {
    check: "cgroups",
    lost: "--memory, --swap, --cpus and --cpu-weight cannot be used.",
    examine: () => {
      const parent = new CgroupParent();
      return judgeCgroups(CONTROLLERS.map((name) => [name, parent.find(name)?.version ?? null]));
    },
  },
];

/** Judges the space that is left for the store. */
export function judgeSpace(
  dir: string,
  { bytes, files }: { readonly bytes: number; readonly files: number | null },
): Finding {
  const count = files === null ? "files without a bound" : `${files} files`;
  const found = `${formatBytes(bytes, { binary: true })} and ${count} free in "${dir}"`;
  if (bytes >= ENOUGH_BYTES && (files ?? Infinity) >= ENOUGH_FILES) {
    return pass("disk space", found);
  }
  return caution("disk space", found, {
    lost: "A large environment may not fit.",
    remedy: "minisandbox layer list, then minisandbox layer remove KEY; or --store DIR elsewhere.",
  });
}

/** Judges how many descriptors we may have, against the number of sandboxes wanted. */
export function judgeOpenFiles(limit: number, sandboxes: number): Finding {
  const needed = OWN_FDS + FDS_OF_SANDBOX * sandboxes;
  const found = `at most ${limit}; ${needed} are needed for ${sandboxes} sandboxes at once`;
  if (limit >= needed) return pass("open files", found);
  const possible = Math.max(0, Math.floor((limit - OWN_FDS) / FDS_OF_SANDBOX));
  return caution("open files", found, {
    lost: `No more than ${possible} sandboxes at once in one process.`,
    remedy: `ulimit -Hn ${needed} as root before minisandbox is started, or the line ` +
      `"* hard nofile ${needed}" in /etc/security/limits.conf, or LimitNOFILE=${needed}`,
  });
}

/** What limits are held by a controller, as options. */
const OPTIONS: Readonly<Record<Controller, string>> = {
  memory: "--memory and --swap",
  pids: "--pids for a whole sandbox",
  cpu: "--cpus and --cpu-weight",
};

/** Judges the controllers that we may use, each by the version of cgroups that has it, or null. */
export function judgeCgroups(
  controllers: readonly (readonly [Controller, 1 | 2 | null])[],
): Finding {
  const usable = controllers.filter(([, version]) => version !== null);
  const missing = controllers.filter(([, version]) => version === null).map(([name]) => name);
  const found = usable.length === 0
    ? "none can be used"
    : usable.map(([name, version]) => `${name} (version ${version})`).join(", ");
  if (missing.length === 0) return pass("cgroups", found);
  return caution("cgroups", found, {
    lost: `No ${missing.map((name) => OPTIONS[name]).join(", no ")}.`,
    remedy:
      "systemd-run --user --scope -p Delegate=yes minisandbox …, or have a cgroup delegated " +
      "to this user",
  });
}
