/** Checks of what a user may have of each thing, against the number of sandboxes that are wanted. */
import { caution, type Finding, pass, skipped } from "./finding.ts";
import type { Probe } from "./probe.ts";
import { judgeProcesses, readProcessRooms } from "./process_room.ts";
import { readSysctl, readText } from "./sysctl.ts";

/** Descriptors of a sandbox with one command: a namespace, two processes, a lock, three streams. */
const FDS_OF_SANDBOX = 7;

/** Descriptors of ours, those that plans number themselves included. */
const OWN_FDS = 128;

/** Checks of quotas. */
export const quotaProbes: readonly Probe[] = [
  {
    check: "open files",
    lost: "Sandboxes cannot be made.",
    examine: ({ host, wish }) => judgeOpenFiles(host.openFiles.hard, wish.sandboxes),
  },
  {
    check: "processes",
    lost: "Sandboxes cannot be made.",
    examine: ({ host, wish }) => judgeProcesses(readProcessRooms(host.uid), wish.sandboxes),
  },
  {
    check: "keys",
    lost: "Nothing: sandboxes use no keys.",
    examine: ({ host, wish }) => {
      const keys = parseKeyUsers(readText("/proc/key-users") ?? "", host.uid);
      const max = readSysctl(`kernel/keys/${host.uid === 0 ? "root_maxkeys" : "maxkeys"}`);
      return judgeKeys(keys ?? (max === null ? null : { used: 0, max }), wish.sandboxes);
    },
  },
  {
    check: "inotify instances",
    lost: "Programs inside may not watch files.",
    examine: ({ wish }) =>
      judgeInotify(readSysctl("fs/inotify/max_user_instances"), wish.sandboxes),
  },
  {
    check: "pseudo-terminals",
    lost: "run --tty cannot be used.",
    examine: ({ wish }) => {
      const [max, reserve, used] = ["max", "reserve", "nr"].map((it) =>
        readSysctl(`kernel/pty/${it}`)
      );
      return judgePtys({ max: max!, reserve: reserve ?? 0, used: used ?? 0 }, wish.sandboxes);
    },
  },
];

/** Judges how many descriptors we may have. */
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

/** A user's keys, and how many he may have. */
export interface KeyCount {
  readonly used: number;
  readonly max: number;
}

/** Reads `/proc/key-users`: a line ` 1000: USAGE N/N USED/MAX …` for each user (keyrings(7)). */
export function parseKeyUsers(text: string, uid: number): KeyCount | null {
  const [, used, max] = new RegExp(`^ *${uid}: +\\S+ +\\S+ +(\\d+)/(\\d+) `, "m").exec(text) ?? [];
  return used === undefined ? null : { used: Number(used), max: Number(max) };
}

/** Judges keys: each process of ours has one keyring, for all its sandboxes. */
export function judgeKeys(keys: KeyCount | null, sandboxes: number): Finding {
  if (keys === null) return skipped("keys", "this kernel tells of none");
  const free = keys.max - keys.used;
  const found = `${keys.used} of ${keys.max} are in use; each process of minisandbox has one`;
  if (free >= sandboxes) return pass("keys", found);
  return caution("keys", found, {
    lost: `With more than ${free} processes of minisandbox at once, their programs inherit the ` +
      "keyring of the caller, which a filter closes to them; container engines fail.",
    remedy: `sysctl -w kernel.keys.maxkeys=${keys.max + 10 * sandboxes}`,
  });
}

/** Judges inotify instances: those of all sandboxes count to who started them. */
export function judgeInotify(max: number | null, sandboxes: number): Finding {
  const check = "inotify instances";
  if (max === null) return skipped(check, "this kernel tells no limit");
  const found = `${max} for all sandboxes of a user together`;
  if (max >= sandboxes) return pass(check, found);
  return caution(check, found, {
    lost: `What watches files (tail -f, development servers) fails when ${max} do so at once.`,
    remedy: `sysctl -w fs.inotify.max_user_instances=${8 * sandboxes}`,
  });
}

/** Judges terminals: the reserved ones are for the host's own /dev/pts. */
export function judgePtys(
  { max, reserve, used }: {
    readonly max: number | null;
    readonly reserve: number;
    readonly used: number;
  },
  sandboxes: number,
): Finding {
  const check = "pseudo-terminals";
  if (max === null) return skipped(check, "this kernel tells no limit");
  const free = Math.max(0, max - reserve - used);
  const found = `${free} more, of ${max} of the host and ${reserve} kept back`;
  if (free >= sandboxes) return pass(check, found);
  return caution(check, found, {
    lost: `No more than ${free} terminals at once, by --tty or inside.`,
    remedy: `sysctl -w kernel.pty.max=${max + sandboxes}`,
  });
}
