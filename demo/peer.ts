/** The same commands by bwrap, where it is installed. */
import { join } from "@std/path/join";
import { HostError, messageOf } from "../src/errors.ts";
import { runChecked } from "./child.ts";
import { check, type Context } from "./context.ts";
import { type Spread, toSpread } from "./crowd.ts";
import type { Environment } from "./environment.ts";
import { PROGRAM_ENV, runSandbox } from "./sandbox.ts";
import { isLookOutput, lookCommand } from "./single.ts";
import { VENV } from "./venv.ts";

/** Both tools, run in turns with the same commands. */
export interface PeerResult {
  /** Why there is nothing to compare with, if so. */
  readonly skipped: string | null;
  readonly ours: Pair;
  readonly peer: Pair;
  /** How long GNU tar took to unpack the two archives for bwrap. */
  readonly tarMs: number;
}

/** A command that does nothing, and one that uses both layers. */
interface Pair {
  readonly nothing: Spread;
  readonly look: Spread;
}

/** How often each command runs. */
const ROUNDS = 10;

/** Folders in the root that are links into /usr on most systems. */
const ROOT_FOLDERS = ["bin", "sbin", "lib", "lib32", "lib64"];

/** Times a command that does nothing and the demo's first command, by both tools in turns. */
export async function comparePeer(
  context: Context,
  environment: Environment,
): Promise<PeerResult> {
  context.say(`${environment.task.name}: the same command by bwrap, ${ROUNDS} times each`);
  const { tarMs, command } = await preparePeer(context, environment);
  const nothing = ["true"];
  const look = lookCommand(environment.task);
  const skipped = await findObstacle([...command, ...nothing]);
  const ours = { nothing: [] as number[], look: [] as number[] };
  const peer = { nothing: [] as number[], look: [] as number[] };
  for (let round = 0; round < ROUNDS; round++) {
    ours.nothing.push((await runSandbox(context, environment, { command: nothing })).totalMs);
    ours.look.push((await runSandbox(context, environment, { command: look })).totalMs);
    if (skipped !== null) continue;
    peer.nothing.push((await runChecked([...command, ...nothing])).durationMs);
    const { stdout, durationMs } = await runChecked([...command, ...look]);
    peer.look.push(durationMs);
    if (round > 0) continue;
    const isRight = isLookOutput(environment.task, stdout);
    check(context, "bwrap sees the same repository", isRight, JSON.stringify(stdout));
  }
  return { skipped, ours: toPair(ours), peer: toPair(peer), tarMs };
}

/** Unpacks the archives as bwrap needs them, and says how it is called. */
async function preparePeer(
  context: Context,
  { venv, testbed }: Environment,
): Promise<{ tarMs: number; command: string[] }> {
  const startedAt = performance.now();
  const folders = [join(context.scratch, "peer-venv"), join(context.scratch, "peer-testbed")];
  for (const [index, archive] of [venv, testbed].entries()) {
    await Deno.mkdir(folders[index]!);
    await runChecked(["tar", "-xzf", archive, "--no-same-owner", "-C", folders[index]!]);
  }
  const tarMs = performance.now() - startedAt;
  const roots = await Promise.all(ROOT_FOLDERS.map(toRootOptions));
  const { bindPrefix } = context.python;
  const command = [
    ...["bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/usr", "/usr"],
    ...roots.flat(),
    ...["--ro-bind", "/etc", "/etc", "--proc", "/proc", "--dev", "/dev"],
    ...["--tmpfs", "/tmp", "--tmpfs", "/root"],
    ...(bindPrefix === null ? [] : ["--ro-bind", bindPrefix, bindPrefix]),
    ...["--ro-bind", folders[0]!, VENV, "--bind", folders[1]!, "/testbed", "--chdir", "/testbed"],
    "--clearenv",
    ...Object.entries(PROGRAM_ENV).flatMap(([name, value]) => ["--setenv", name, value]),
  ];
  return { tarMs, command };
}

async function toRootOptions(name: string): Promise<string[]> {
  try {
    return ["--symlink", await Deno.readLink(`/${name}`), `/${name}`];
  } catch (error) {
    return error instanceof Deno.errors.NotFound ? [] : ["--ro-bind", `/${name}`, `/${name}`];
  }
}

async function findObstacle(command: readonly string[]): Promise<string | null> {
  try {
    await runChecked(command);
    return null;
  } catch (error) {
    if (error instanceof HostError && error.cause instanceof Deno.errors.NotFound) {
      return "not installed";
    }
    return messageOf(error).split("\n").at(-1) ?? "";
  }
}

function toPair(times: { nothing: number[]; look: number[] }): Pair {
  return { nothing: toSpread(times.nothing), look: toSpread(times.look) };
}
