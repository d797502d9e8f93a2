/** Cgroups that root gives to a user for the time of his tests, as a service manager would. */
import { CONTROLLERS, findHierarchy, type Hierarchy } from "../src/sandbox/cgroup/hierarchy.ts";

/** Cgroups that are a user's own. */
export interface Delegation {
  /** Files to which a process writes its id to join, before it becomes the user. */
  readonly joinFiles: readonly string[];
  /** Removes them, once all processes in them have ended. */
  remove(): void;
}

/** No cgroups at all. */
export const NO_DELEGATION: Delegation = { joinFiles: [], remove: () => {} };

/** Files of a cgroup that its user may write (cgroups(7), "Cgroups delegation"). */
const DELEGATED = ["", "/cgroup.procs", "/cgroup.threads", "/cgroup.subtree_control", "/tasks"];

/**
 * Makes cgroups below our own and gives them to a user.
 *
 * @throws {Error} If the kernel refuses, such as where they are mounted read-only.
 */
export function delegateCgroups(user: string, ids: { uid: number; gid: number }): Delegation {
  const { unified, legacy } = ownHierarchy();
  const made: string[] = [];
  const give = (dir: string): string => {
    Deno.mkdirSync(dir, { recursive: true });
    made.unshift(dir);
    for (const name of DELEGATED) {
      if (exists(dir + name)) Deno.chownSync(dir + name, ids.uid, ids.gid);
    }
    return dir;
  };
  const name = `minisandbox-ci-${user}-${Deno.pid}`;
  const dirs = Object.values(legacy).map((dir) => give(`${dir}/${name}`));
  const wanted = CONTROLLERS.filter((controller) => legacy[controller] === undefined);
  if (unified !== null && offers(unified, wanted)) {
    enable(unified, wanted);
    const dir = give(`${unified}/${name}`);
    enable(dir, wanted);
    dirs.push(give(`${dir}/tests`)); // only leaves have processes
  }
  return {
    joinFiles: dirs.map((dir) => `${dir}/cgroup.procs`),
    remove: () => made.forEach(removeCgroup),
  };
}

/** With those of runs that were killed, which the next run would have removed. */
function removeCgroup(dir: string): void {
  for (const { name, isDirectory } of [...Deno.readDirSync(dir)]) {
    if (isDirectory) removeCgroup(`${dir}/${name}`);
  }
  Deno.removeSync(dir);
}

function ownHierarchy(): Hierarchy {
  return findHierarchy(
    Deno.readTextFileSync("/proc/self/cgroup"),
    Deno.readTextFileSync("/proc/self/mountinfo"),
  );
}

function offers(dir: string, controllers: readonly string[]): boolean {
  const offered = Deno.readTextFileSync(`${dir}/cgroup.controllers`).trim().split(" ");
  return controllers.length > 0 && controllers.every((name) => offered.includes(name));
}

/** A cgroup with processes gives no controllers to those below it: ours move into a leaf of it. */
function enable(dir: string, controllers: readonly string[]): void {
  const text = controllers.map((name) => `+${name}`).join(" ");
  try {
    Deno.writeTextFileSync(`${dir}/cgroup.subtree_control`, text);
  } catch {
    const leaf = `${dir}/minisandbox-ci-root`;
    Deno.mkdirSync(leaf, { recursive: true });
    for (const pid of Deno.readTextFileSync(`${dir}/cgroup.procs`).trim().split("\n")) {
      Deno.writeTextFileSync(`${leaf}/cgroup.procs`, pid);
    }
    Deno.writeTextFileSync(`${dir}/cgroup.subtree_control`, text);
  }
}

function exists(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch {
    return false;
  }
}
