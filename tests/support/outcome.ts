/** Runs whose outcome is looked at, and what they leave in cgroups. */
import { assertEquals } from "@std/assert";
import { CONTROLLERS, findHierarchy } from "../../src/sandbox/cgroup/hierarchy.ts";
import { CgroupParent } from "../../src/sandbox/cgroup/parent.ts";
import { start } from "./minisandbox.ts";
import { requires } from "./requirement.ts";
import { identity } from "./identity.ts";
import { tempDir } from "./temp_dir.ts";

/** How a command ended, as `--outcome` tells it. */
export interface ToldOutcome {
  readonly kind: string;
  readonly code: number | null;
  readonly signal: string | null;
  readonly reached: readonly string[];
  readonly peakMemoryBytes: number | null;
  readonly phases: Readonly<Record<string, number>>;
}

/** A run that has ended. */
export interface ToldRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly outcome: ToldOutcome;
}

/** Runs a command to its end, and makes sure that its cgroups are gone with it. */
export async function outcomeOf(
  args: readonly string[],
  command: readonly string[],
): Promise<ToldRun> {
  using temp = tempDir();
  const file = `${temp.path}/outcome`;
  const child = start(["run", "--quiet", "--outcome", file, ...args, "--", ...command]);
  await child.stdin.close();
  const { code, stdout, stderr } = await child.output();
  assertEquals(findCgroups(child.pid), [], "cgroups that are left");
  const outcome = JSON.parse(Deno.readTextFileSync(file)) as ToldOutcome;
  const decoder = new TextDecoder();
  return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr), outcome };
}

/** Lists the cgroups that a process of ours has made and not removed. */
export function findCgroups(pid: number): string[] {
  const { unified, legacy } = findHierarchy(
    Deno.readTextFileSync("/proc/self/cgroup"),
    Deno.readTextFileSync("/proc/self/mountinfo"),
  );
  const dirs = [unified, ...Object.values(legacy)].filter((dir) => dir !== null);
  return dirs.flatMap((dir) =>
    [...Deno.readDirSync(dir)].filter(({ name }) => name.startsWith(`minisandbox-${pid}-`))
      .map(({ name }) => `${dir}/${name}`)
  );
}

/** Says whether this process may limit by each controller. */
export function hasCgroups(): boolean {
  const parent = new CgroupParent();
  return CONTROLLERS.every((name) => parent.find(name) !== null);
}

/**
 * Gives the part of a test's definition that leaves it to users who may make cgroups: ourselves, and
 * in CI a user to whom they were given.
 */
export function requiresCgroups(): { readonly ignore: boolean } {
  return identity() === "single" ? { ignore: true } : requires("cgroups");
}
