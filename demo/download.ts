/** Fetches source archives and wheels with pip into a cache, which a later demo uses offline. */
import { join } from "@std/path/join";
import { HostError } from "../src/errors.ts";
import { run, runChecked } from "./child.ts";
import type { Context } from "./context.ts";
import { PIP_ENV } from "./python.ts";
import { type Sdist, sdistOf, type Task } from "./task.ts";

/**
 * Gets a release's source archive; pip checks its SHA-256 before it looks into it.
 *
 * @throws {HostError} If it cannot be fetched, or is not the expected one.
 */
export async function fetchSdist(context: Context, task: Task, version: string): Promise<string> {
  const sdist = sdistOf(task, version);
  const path = join(context.cache, sdist.file);
  if (await hasSha256(path, sdist)) return path;
  const folder = await Deno.makeTempDir({ dir: context.scratch });
  const requirement = `${task.name}==${version}`;
  const list = join(folder, "requirements.txt");
  await Deno.writeTextFile(list, `${requirement} --hash=sha256:${sdist.sha256}\n`);
  const options = ["--no-deps", "--no-binary", task.name, "--require-hashes", "-r", list];
  await download(context, requirement, [...options, "--dest", folder]);
  const fetched = join(folder, sdist.file);
  if (!await hasSha256(fetched, sdist)) {
    throw new HostError(`Cannot use ${sdist.file}: its SHA-256 is not ${sdist.sha256}`);
  }
  await Deno.rename(fetched, path);
  return path;
}

/** Gets the wheels that the tests of all tasks need, and says in which folder they lie. */
export async function fetchWheels(context: Context, tasks: readonly Task[]): Promise<string> {
  const folder = join(context.cache, `wheel-${context.python.version}`);
  const deps = [...new Set(tasks.flatMap((task) => task.deps))].sort();
  const list = join(folder, "complete.txt");
  const isThere = await Deno.readTextFile(list).then((text) => text === deps.join("\n"))
    .catch(() => false);
  if (isThere) return folder;
  const options = ["--only-binary", ":all:", "--dest", folder];
  await download(context, "the wheels of the tests", [...options, ...deps]);
  await Deno.writeTextFile(list, deps.join("\n"));
  return folder;
}

async function download(context: Context, what: string, args: string[]): Promise<void> {
  context.say(`downloading ${what}`);
  const pip = join(context.python.toolVenv, "bin/python");
  const command = [pip, "-m", "pip", "download", "--quiet", ...args];
  const { code, stderr } = await run(command, { env: PIP_ENV });
  if (code === 0) return;
  const reason = stderr.trim().split("\n").filter((line) => line.startsWith("ERROR")).at(-1);
  throw new HostError(`Cannot download ${what}: ${reason ?? stderr.trim()}`, {
    remedy: "Check the network and pip's settings, and start the demo again.",
  });
}

async function hasSha256(path: string, { sha256 }: Sdist): Promise<boolean> {
  const isThere = await Deno.stat(path).then((file) => file.isFile).catch(() => false);
  if (!isThere) return false;
  const { stdout } = await runChecked(["sha256sum", path]);
  return stdout.replace(/^\\/, "").startsWith(sha256);
}
