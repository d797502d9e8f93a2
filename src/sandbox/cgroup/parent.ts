/** The cgroups below which those of sandboxes are made, made ready once. */
import { HostError, messageOf } from "../../errors.ts";
import { type Controller, CONTROLLERS, findHierarchy, type Hierarchy } from "./hierarchy.ts";

/** How a controller can be used. */
export interface Place {
  readonly version: 1 | 2;
  /** The directory below which cgroups are made. */
  readonly dir: string;
}

/** Names of our cgroups begin so, and go on with the process that made them. */
const PREFIX = "minisandbox-";

/** The controllers that this process may use, found when first asked for. */
export class CgroupParent {
  readonly #places = new Map<Controller, Place>();
  readonly #reasons = new Map<Controller, string>();
  #count = 0;

  /** Finds out what may be used. */
  constructor(hierarchy: Hierarchy = readHierarchy()) {
    for (const controller of CONTROLLERS) {
      const dir = hierarchy.legacy[controller];
      if (dir === undefined) continue;
      const reason = tryMake(dir);
      if (reason === null) this.#places.set(controller, { version: 1, dir });
      else this.#reasons.set(controller, reason);
    }
    if (hierarchy.unified !== null) this.#openUnified(hierarchy.unified);
    for (const { dir } of this.#places.values()) removeStale(dir);
  }

  /** Says where a controller is used, or null if it cannot be. */
  find(controller: Controller): Place | null {
    return this.#places.get(controller) ?? null;
  }

  /**
   * As `find`, for a limit that was asked for.
   *
   * @throws {HostError} If the controller cannot be used.
   */
  need(controller: Controller, limit: string): Place {
    const place = this.find(controller);
    if (place !== null) return place;
    const reason = this.#reasons.get(controller) ?? "this host has no such cgroup controller here";
    throw new HostError(`Cannot limit ${limit}: ${reason}`, {
      remedy: "Start minisandbox in a cgroup that is delegated to you, such as by: " +
        "systemd-run --user --scope -p Delegate=yes minisandbox …; see minisandbox doctor.",
    });
  }

  /** Gives a name that no other cgroup of ours has. */
  nextName(): string {
    return `${PREFIX}${Deno.pid}-${++this.#count}`;
  }

  /** A cgroup with processes of its own gives none to those below it: we move into a leaf. */
  #openUnified(dir: string): void {
    const wanted = CONTROLLERS.filter((name) => !this.#places.has(name));
    try {
      const offered = Deno.readTextFileSync(`${dir}/cgroup.controllers`).trim().split(" ");
      const useful = wanted.filter((name) => offered.includes(name));
      if (useful.length === 0) return;
      const enabled = Deno.readTextFileSync(`${dir}/cgroup.subtree_control`).trim().split(" ");
      const missing = useful.filter((name) => !enabled.includes(name));
      if (missing.length > 0) enable(dir, missing);
      const reason = tryMake(dir);
      for (const name of useful) {
        if (reason === null) this.#places.set(name, { version: 2, dir });
        else this.#reasons.set(name, reason);
      }
    } catch (error) {
      for (const name of wanted) this.#reasons.set(name, messageOf(error));
    }
  }
}

function readHierarchy(): Hierarchy {
  return findHierarchy(
    Deno.readTextFileSync("/proc/self/cgroup"),
    Deno.readTextFileSync("/proc/self/mountinfo"),
  );
}

function enable(dir: string, controllers: readonly Controller[]): void {
  const text = controllers.map((name) => `+${name}`).join(" ");
  try {
    Deno.writeTextFileSync(`${dir}/cgroup.subtree_control`, text);
  } catch {
    const leaf = `${dir}/${PREFIX}${Deno.pid}-0`;
    Deno.mkdirSync(leaf);
    Deno.writeTextFileSync(`${leaf}/cgroup.procs`, String(Deno.pid));
    Deno.writeTextFileSync(`${dir}/cgroup.subtree_control`, text);
  }
}

/** Makes and removes a cgroup; gives the reason if that cannot be done. */
function tryMake(dir: string): string | null {
  const path = `${dir}/${PREFIX}${Deno.pid}-try`;
  try {
    Deno.mkdirSync(path);
    Deno.removeSync(path);
    return null;
  } catch (error) {
    return messageOf(error);
  }
}

/** Removes empty cgroups whose maker is gone. */
function removeStale(dir: string): void {
  for (const { name } of Deno.readDirSync(dir)) {
    const [, pid] = /^minisandbox-(\d+)-\w+$/.exec(name) ?? [];
    if (pid === undefined || isAlive(pid)) continue;
    try {
      Deno.removeSync(`${dir}/${name}`);
    } catch {
      // It is not empty yet, or another removed it: the next start tries again.
    }
  }
}

function isAlive(pid: string): boolean {
  try {
    Deno.statSync(`/proc/${pid}`);
    return true;
  } catch {
    return false;
  }
}
