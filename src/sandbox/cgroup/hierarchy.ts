/** Which cgroups this process is in, and where they can be reached (cgroups(7)). */

/** A controller that limits use. */
export type Controller = "memory" | "pids" | "cpu";

/** The controllers that limits use. */
export const CONTROLLERS: readonly Controller[] = ["memory", "pids", "cpu"];

/** The directories of this process's own cgroups. */
export interface Hierarchy {
  /** Of the unified hierarchy, version 2; null where it is not mounted. */
  readonly unified: string | null;
  /** Of each controller with a hierarchy of its own, version 1. */
  readonly legacy: Readonly<Partial<Record<Controller, string>>>;
}

/**
 * Finds the directories from the texts of `/proc/self/cgroup` and `/proc/self/mountinfo`.
 *
 * A mount shows the hierarchy from its root field down: a cgroup above it cannot be reached.
 */
export function findHierarchy(cgroups: string, mountinfo: string): Hierarchy {
  const mounts = mountinfo.split("\n").flatMap(parseMount);
  let unified: string | null = null;
  const legacy: Partial<Record<Controller, string>> = {};
  for (const line of cgroups.split("\n")) {
    const [id, names, ...rest] = line.split(":");
    const path = rest.join(":");
    if (id === "0" && names === "") {
      unified = reach(mounts.find(({ kind }) => kind === "cgroup2"), path);
      continue;
    }
    for (const name of CONTROLLERS) {
      if (!names?.split(",").includes(name)) continue;
      const found = mounts.find(({ kind, options }) => kind === "cgroup" && options.includes(name));
      const dir = reach(found, path);
      if (dir !== null) legacy[name] = dir;
    }
  }
  return { unified, legacy };
}

interface CgroupMount {
  readonly kind: string;
  readonly root: string;
  readonly point: string;
  readonly options: readonly string[];
}

/** `36 35 98:0 /root /point rw,… - cgroup2 source options` (proc_pid_mountinfo(5)). */
function parseMount(line: string): CgroupMount[] {
  const [before, after] = line.split(" - ");
  const [, , , root = "", point = ""] = before?.split(" ") ?? [];
  const [kind = "", , options = ""] = after?.split(" ") ?? [];
  if (!kind.startsWith("cgroup")) return [];
  return [{ kind, root, point, options: options.split(",") }];
}

function reach(mount: CgroupMount | undefined, path: string): string | null {
  if (mount === undefined) return null;
  const { root, point } = mount;
  if (root === "/") return path === "/" ? point : point + path;
  if (path === root) return point;
  return path.startsWith(`${root}/`) ? point + path.slice(root.length) : null;
}
