/** A task made ready for sandboxes: its two archives, and its fix. */
import { join } from "@std/path/join";
import type { Context } from "./context.ts";
import { fetchSdist, fetchWheels } from "./download.ts";
import type { Task } from "./task.ts";
import { packTestbed } from "./testbed.ts";
import { packVenv } from "./venv.ts";

/** A task, and the files that sandboxes are made of. */
export interface Environment {
  readonly task: Task;
  readonly venv: string;
  readonly testbed: string;
  readonly patch: string;
}

/** What has been downloaded for all tasks. */
interface Downloads {
  readonly sdists: ReadonlyMap<Task, readonly [string, string]>;
  readonly wheels: string;
}

/** Gets what the tasks need from the package registry, or from the cache. */
export async function fetchAll(context: Context, tasks: readonly Task[]): Promise<Downloads> {
  const sdists = new Map<Task, readonly [string, string]>();
  for (const task of tasks) {
    const base = await fetchSdist(context, task, task.base);
    sdists.set(task, [base, await fetchSdist(context, task, task.fixed)]);
  }
  return { sdists, wheels: await fetchWheels(context, tasks) };
}

/** Builds the archives of every task, from downloads alone. */
export async function buildEnvironments(
  context: Context,
  { sdists, wheels }: Downloads,
): Promise<Environment[]> {
  return await Promise.all(
    Array.from(sdists, async ([task, pair]) => {
      const folder = join(context.scratch, task.name);
      await Deno.mkdir(folder);
      const { archive, patch, packageInfo } = await packTestbed(task, { sdists: pair, folder });
      const venv = await packVenv(context, task, { wheels, folder, packageInfo });
      return { task, venv, testbed: archive, patch };
    }),
  );
}
