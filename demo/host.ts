/** Shows that the host is unchanged: its files, the layers in the store, mounts and processes. */
import { delay } from "@std/async/delay";
import { listLiving, run } from "./child.ts";
import { check, type Context } from "./context.ts";
import { CANARY } from "./crowd.ts";
import { sumLayers } from "./layer.ts";

/** What could be changed by a sandbox that leaks. */
export interface HostState {
  /** One line a file of /etc, /usr/local and the home folder. */
  readonly files: ReadonlySet<string>;
  /** One line a mount. */
  readonly mounts: ReadonlySet<string>;
}

/** What was compared. */
export interface HostResult {
  readonly fileCount: number;
  readonly layerCount: number;
  readonly mountsBefore: number;
  readonly mountsAfter: number;
  /** How many processes of ended sandboxes are left. */
  readonly orphanCount: number;
  readonly isUnchanged: boolean;
}

/** Reads the state of the host. */
export async function readHost(context: Context): Promise<HostState> {
  const mounts = new Set((await Deno.readTextFile("/proc/self/mountinfo")).trim().split("\n"));
  const files = new Set([...await listSystem(), ...await listHome(context)]);
  return { files, mounts };
}

/** Compares the host with its earlier state, after all sandboxes have ended. */
export async function checkHost(
  context: Context,
  before: HostState,
  layers: { readonly before: Map<string, string>; readonly expectedCount: number },
): Promise<HostResult> {
  const firstWrong = context.checks.filter(({ isRight }) => !isRight).length;
  const after = await readHost(context);
  const changed = difference(before.files, after.files);
  check(context, "host: no file is changed", changed.length === 0, shorten(changed));
  const canaries = [...after.files].filter((line) => line.includes(CANARY));
  check(context, "host: no sandbox's file appears", canaries.length === 0, shorten(canaries));
  const layersAfter = await sumLayers(context);
  const isEqual = layersAfter.size === layers.expectedCount &&
    [...layers.before].every(([tree, sum]) => layersAfter.get(tree) === sum);
  check(
    context,
    `store: ${layers.expectedCount} layers, all unchanged`,
    isEqual,
    `${layers.before.size} before, ${layersAfter.size} after`,
  );
  const newMounts = [...after.mounts].filter((line) => !before.mounts.has(line));
  check(context, "host: no mount is left", newMounts.length === 0, shorten(newMounts));
  const orphans = await waitForOrphans();
  check(context, "host: no process is left", orphans.length === 0, shorten(orphans));
  return {
    fileCount: after.files.size,
    layerCount: layersAfter.size,
    mountsBefore: before.mounts.size,
    mountsAfter: after.mounts.size,
    orphanCount: orphans.length,
    isUnchanged: context.checks.filter(({ isRight }) => !isRight).length === firstWrong,
  };
}

/** Lists system folders to the last file, with size and time of change. */
async function listSystem(): Promise<string[]> {
  return await list(["/etc", "/usr/local", "-xdev"], "%p %M %U %s %T@ %l");
}

/** Lists the home folder, but not what other programs may change at any time. */
async function listHome(context: Context): Promise<string[]> {
  const home = Deno.env.get("HOME") ?? "/root";
  const skipped = ["(", "-path", `${home}/.*/*`, "-o", "-path", `${context.cache}/*`, ")"];
  return await list([home, "-maxdepth", "2", ...skipped, "-prune", "-o"], "%p %M %U %l");
}

async function list(find: readonly string[], format: string): Promise<string[]> {
  const { stdout } = await run(["find", ...find, "-printf", `${format}\\n`]);
  return stdout.split("\n").filter((line) => line !== "");
}

/** Waits a moment for processes of ended sandboxes, and names those that stay. */
async function waitForOrphans(): Promise<string[]> {
  let orphans = await listLiving();
  for (let tries = 0; orphans.length > 0 && tries < 20; tries++) {
    await delay(100);
    orphans = await listLiving();
  }
  return orphans.map(({ pid, name }) => `${pid} (${name})`);
}

function difference(before: ReadonlySet<string>, after: ReadonlySet<string>): string[] {
  return [
    ...[...before].filter((line) => !after.has(line)).map((line) => `- ${line}`),
    ...[...after].filter((line) => !before.has(line)).map((line) => `+ ${line}`),
  ];
}

function shorten(lines: readonly string[]): string {
  return lines.slice(0, 3).join("; ") + (lines.length > 3 ? `; and ${lines.length - 3} more` : "");
}
