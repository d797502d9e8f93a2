/** How many processes can still be made: by this user, on this host, in its cgroups. */
import { findHierarchy } from "../../sandbox/mod.ts";
import { caution, type Finding, pass, skipped } from "./finding.ts";
import { readSysctl, readText } from "./sysctl.ts";

/** Init, a shell, and what it runs. */
const PROCESSES_OF_SANDBOX = 8;

/** How many processes something still lets be made. */
export interface ProcessRoom {
  readonly by: string;
  readonly free: number;
  readonly remedy: string;
}

/** Judges by what leaves the least room for processes. */
export function judgeProcesses(rooms: readonly ProcessRoom[], sandboxes: number): Finding {
  const check = "processes";
  const least = rooms.toSorted((a, b) => a.free - b.free)[0];
  if (least === undefined) return skipped(check, "no limit is known");
  const needed = PROCESSES_OF_SANDBOX * sandboxes;
  const found = `${least.free} more by ${least.by}; ${sandboxes} sandboxes of ` +
    `${PROCESSES_OF_SANDBOX} each need ${needed}`;
  if (least.free >= needed) return pass(check, found);
  return caution(check, found, {
    lost: "With so many sandboxes at once, programs fail to fork.",
    remedy: least.remedy,
  });
}

/** Reads what bounds the processes of this user: of root no limit, but the host's and a cgroup's. */
export function readProcessRooms(uid: number): ProcessRoom[] {
  const all = Number(/\/(\d+)/.exec(readText("/proc/loadavg") ?? "")?.[1] ?? 0);
  const rooms: ProcessRoom[] = [];
  for (const name of ["pid_max", "threads-max"]) {
    const max = readSysctl(`kernel/${name}`);
    const remedy = `sysctl -w kernel.${name}=4194304`;
    if (max !== null) rooms.push({ by: `kernel.${name}`, free: max - all, remedy });
  }
  const limit = Number(/^Max processes +(\d+)/m.exec(readText("/proc/self/limits") ?? "")?.[1]);
  if (uid !== 0 && !Number.isNaN(limit)) {
    const remedy = 'ulimit -u unlimited, or the line "* - nproc unlimited" in ' +
      "/etc/security/limits.conf, or LimitNPROC=infinity";
    rooms.push({ by: "ulimit -u", free: limit - countTasks(uid), remedy });
  }
  return [...rooms, ...readCgroupRooms()];
}

/** Our cgroup, and those above it that can be seen. */
function readCgroupRooms(): ProcessRoom[] {
  const { unified, legacy } = findHierarchy(
    readText("/proc/self/cgroup") ?? "",
    readText("/proc/self/mountinfo") ?? "",
  );
  const rooms: ProcessRoom[] = [];
  for (let dir = legacy.pids ?? unified ?? ""; dir !== ""; dir = dir.replace(/\/[^/]*$/, "")) {
    const max = Number(readText(`${dir}/pids.max`)?.trim());
    const used = Number(readText(`${dir}/pids.current`)?.trim());
    if (Number.isNaN(max) || Number.isNaN(used)) continue;
    const by = `pids.max of the cgroup "${dir}"`;
    rooms.push({ by, free: max - used, remedy: `echo max >${dir}/pids.max, or TasksMax=infinity` });
  }
  return rooms;
}

/** Counts the threads of a user, as RLIMIT_NPROC does. */
function countTasks(uid: number): number {
  const statuses = [...Deno.readDirSync("/proc")].filter(({ name }) => /^\d+$/.test(name))
    .map(({ name }) => readText(`/proc/${name}/status`) ?? "");
  return statuses.filter((text) => Number(/^Uid:\s+(\d+)/m.exec(text)?.[1]) === uid)
    .reduce((sum, text) => sum + Number(/^Threads:\s+(\d+)/m.exec(text)?.[1] ?? 0), 0);
}
