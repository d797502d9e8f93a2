/** The cgroups below which those of sandboxes are made, made ready once. */
import { dirname } from "@std/path/dirname";
import { HostError, messageOf } from "../../errors.ts";
import { type Docker, readDocker } from "../docker.ts";
import { type Controller, CONTROLLERS, findHierarchy, type Hierarchy } from "./hierarchy.ts";

/** How a controller can be used. */
export interface Place {
  readonly version: 1 | 2;
  /** The directory below which cgroups are made. */
  readonly dir: string;
}

type Enable = (dir: string, controllers: readonly Controller[]) => string | null;

/** Names of our cgroups begin so, and go on with the process that made them. */
const PREFIX = "minisandbox-";

/** What gives us cgroups of our own. */
export function cgroupRemedy(docker: Docker | null = readDocker()): string {
  return docker === null
    ? "Start minisandbox in a cgroup that is delegated to you, such as by: " +
      "systemd-run --user --scope -p Delegate=yes minisandbox …; see minisandbox doctor."
    : "Start the container by: docker run --cgroupns host -v /sys/fs/cgroup:/sys/fs/cgroup …, " +
      "and minisandbox as its root.";
}

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
      else this.#setReason(controller, reason);
    }
    if (hierarchy.unified !== null) {
      this.#openUnified(hierarchy.unified, enable);
      // Where others share our cgroup, those of sandboxes stand beside it, if they may.
      this.#openUnified(dirname(hierarchy.unified), () => "it is not ours to enable");
    }
    for (const { dir } of this.#places.values()) removeStale(dir);
  }

  /** The first reason stands. */
  #setReason(controller: Controller, reason: string): void {
    if (!this.#reasons.has(controller)) this.#reasons.set(controller, reason);
  }

  /** Says where a controller is used, or null if it cannot be. */
  find(controller: Controller): Place | null {
    return this.#places.get(controller) ?? null;
  }

  /** Says why a controller cannot be used. */
  reason(controller: Controller): string {
    return this.#reasons.get(controller) ?? `no cgroup of this host has "${controller}"`;
  }

  /**
   * As `find`, for a limit that was asked for.
   *
   * @throws {HostError} If the controller cannot be used.
   */
  need(controller: Controller, limit: string): Place {
    const place = this.find(controller);
    if (place !== null) return place;
    throw new HostError(`Cannot limit ${limit}: ${this.reason(controller)}`, {
      remedy: cgroupRemedy(),
    });
  }

  /** Gives a name that no other cgroup of ours has. */
  nextName(): string {
    return `${PREFIX}${Deno.pid}-${++this.#count}`;
  }

  #openUnified(dir: string, enable: Enable): void {
    const wanted = CONTROLLERS.filter((name) => !this.#places.has(name));
    if (wanted.length === 0 || !exists(`${dir}/cgroup.controllers`)) return;
    try {
      const offered = Deno.readTextFileSync(`${dir}/cgroup.controllers`).trim().split(" ");
      const useful = wanted.filter((name) => offered.includes(name));
      const enabled = readEnabled(dir);
      const missing = useful.filter((name) => !enabled.includes(name));
      const refusal = missing.length === 0 ? null : enable(dir, missing);
      const reason = tryMake(dir);
      for (const name of useful) {
        const state = missing.includes(name) ? refusal ?? reason : reason;
        if (state === null) this.#places.set(name, { version: 2, dir });
        else this.#setReason(name, state);
      }
    } catch (error) {
      for (const name of wanted) this.#setReason(name, reasonOf(dir, error));
    }
  }
}

function readHierarchy(): Hierarchy {
  return findHierarchy(
    Deno.readTextFileSync("/proc/self/cgroup"),
    Deno.readTextFileSync("/proc/self/mountinfo"),
  );
}

function readEnabled(dir: string): string[] {
  return Deno.readTextFileSync(`${dir}/cgroup.subtree_control`).trim().split(" ");
}

/**
 * Gives controllers to cgroups below; gives the reason if that cannot be done. A cgroup with processes
 * of its own gives none: we move into a leaf.
 */
function enable(dir: string, controllers: readonly Controller[]): string | null {
  const write = (path: string, text: string) => Deno.writeTextFileSync(path, text);
  const wish = controllers.map((name) => `+${name}`).join(" ");
  try {
    write(`${dir}/cgroup.subtree_control`, wish);
    return null;
  } catch (error) {
    if (error instanceof Deno.errors.PermissionDenied) return reasonOf(dir, error);
  }
  const leaf = `${dir}/${PREFIX}${Deno.pid}-0`;
  Deno.mkdirSync(leaf);
  write(`${leaf}/cgroup.procs`, String(Deno.pid));
  try {
    write(`${dir}/cgroup.subtree_control`, wish);
    return null;
  } catch (error) {
    // Others are in it too.
    write(`${dir}/cgroup.procs`, String(Deno.pid));
    Deno.removeSync(leaf);
    return reasonOf(dir, error);
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
    return reasonOf(dir, error);
  }
}

function reasonOf(dir: string, error: unknown): string {
  if (messageOf(error).includes("Read-only file system")) {
    return `the cgroup "${dir}" is mounted read-only`;
  }
  const isDenied = error instanceof Deno.errors.PermissionDenied ||
    error instanceof Deno.errors.NotCapable;
  return isDenied ? `the cgroup "${dir}" is not delegated to this user` : messageOf(error);
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
  return exists(`/proc/${pid}`);
}

function exists(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch {
    return false;
  }
}
