/** The cgroups of one sandbox: made before its first process, gone after its last. */
import { delay } from "@std/async/delay";
import { HostError, messageOf } from "../../errors.ts";
import type { Limits } from "../limit.ts";
import type { Controller } from "./hierarchy.ts";
import type { CgroupParent, Place } from "./parent.ts";
import { legacySettings, unifiedSettings } from "./setting.ts";

/** What a sandbox's cgroups have counted. */
export interface Usage {
  /** How many processes were ended for want of memory. */
  readonly outOfMemory: number;
  /** How many times a process could not be made. */
  readonly pidsRefused: number;
  /** The most memory in use, in bytes; null if it was not counted. */
  readonly peakMemoryBytes: number | null;
}

/** It takes the kernel a moment to see that a cgroup is empty. */
const REMOVE_ATTEMPTS = 50;

/** The cgroups of one sandbox. */
export class Cgroup {
  /** Its directories; in version 2 all controllers share one. */
  readonly #dirs: ReadonlyMap<Controller, Place>;

  private constructor(dirs: ReadonlyMap<Controller, Place>) {
    this.#dirs = dirs;
  }

  /**
   * Makes the cgroups of these controllers; null if none is needed.
   *
   * @throws {HostError} If one that is needed cannot be had.
   */
  static create(
    parent: CgroupParent,
    limits: Limits,
    controllers: readonly Controller[],
  ): Cgroup | null {
    const places = new Map<Controller, Place>();
    for (const controller of controllers) {
      // Without a cgroup, processes are limited by RLIMIT_NPROC.
      const place = controller === "pids"
        ? parent.find("pids")
        : parent.need(controller, NAMES[controller]);
      if (place !== null) places.set(controller, place);
    }
    if (places.size === 0) return null;
    const name = parent.nextName();
    const dirs = new Map(
      [...places].map(([controller, { version, dir }]) =>
        [controller, { version, dir: `${dir}/${name}` }] as const
      ),
    );
    const group = new Cgroup(dirs);
    for (const dir of group.#unique()) Deno.mkdirSync(dir);
    group.#configure(limits);
    return group;
  }

  /** The files to which a process writes "0" to join. */
  get joinFiles(): string[] {
    return this.#unique().map((dir) => `${dir}/cgroup.procs`);
  }

  /** Says whether processes are counted here. */
  get countsPids(): boolean {
    return this.#dirs.has("pids");
  }

  /** The directory by which all its processes can be stopped at once; null in version 1. */
  get freezeDir(): string | null {
    return [...this.#dirs.values()].find(({ version }) => version === 2)?.dir ?? null;
  }

  /** Reads what was counted. */
  readUsage(): Usage {
    const memory = this.#dirs.get("memory");
    const pids = this.#dirs.get("pids");
    const isUnified = memory?.version === 2;
    const oomFile = isUnified ? "memory.events" : "memory.oom_control";
    const peakFile = isUnified ? "memory.peak" : "memory.max_usage_in_bytes";
    const peak = memory === undefined ? "" : readText(`${memory.dir}/${peakFile}`).trim();
    return {
      outOfMemory: memory === undefined ? 0 : readCount(`${memory.dir}/${oomFile}`, "oom_kill"),
      pidsRefused: pids === undefined ? 0 : readCount(`${pids.dir}/pids.events`, "max"),
      peakMemoryBytes: peak === "" ? null : Number(peak),
    };
  }

  /** Removes them; all their processes have ended. */
  async remove(): Promise<void> {
    for (const dir of this.#unique()) await removeDirectory(dir);
  }

  #configure(limits: Limits): void {
    for (const [controller, { version, dir }] of this.#dirs) {
      const settings = version === 2 ? unifiedSettings : legacySettings;
      for (const { file, text } of settings(controller, limits)) {
        writeSetting(`${dir}/${file}`, text, limits.swapBytes !== null);
      }
    }
  }

  #unique(): string[] {
    return [...new Set([...this.#dirs.values()].map(({ dir }) => dir))];
  }
}

const NAMES = { memory: "memory", cpu: "processors" } as const;

/** Not every kernel counts swap: then it cannot be limited, and is not unless that was asked for. */
function writeSetting(path: string, text: string, isSwapAsked: boolean): void {
  try {
    Deno.writeTextFileSync(path, text, { create: false });
  } catch (error) {
    const isSwap = path.endsWith(".memsw.limit_in_bytes") || path.endsWith("memory.swap.max");
    const isMissing = isSwap && error instanceof Deno.errors.NotFound;
    if (isMissing && !isSwapAsked) return;
    if (isMissing) {
      throw new HostError("Cannot limit swap: this kernel does not count it", {
        remedy: "Start it with swapaccount=1, or leave --swap away.",
      });
    }
    throw new HostError(`Cannot limit: write "${text}" to "${path}": ${messageOf(error)}`, {
      cause: error,
    });
  }
}

async function removeDirectory(dir: string): Promise<void> {
  for (let attempt = 1;; attempt++) {
    try {
      Deno.removeSync(dir);
      return;
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return;
      if (attempt === REMOVE_ATTEMPTS) throw error;
      await delay(attempt);
    }
  }
}

/** Reads the number after a name: `max 3`. */
function readCount(path: string, name: string): number {
  const found = new RegExp(`^${name} (\\d+)$`, "m").exec(readText(path));
  return Number(found?.[1] ?? 0);
}

function readText(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "";
    throw error;
  }
}
