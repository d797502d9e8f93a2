/** The demo: real bug fixes from a package registry, in sandboxes, with every result checked. */
import { join } from "@std/path/join";
import { PR, prctl } from "../ffi/mod.ts";
import { HostError, messageOf, MinisandboxError } from "../src/errors.ts";
import { endChildren, runChecked } from "./child.ts";
import type { Check, Context } from "./context.ts";
import { showCrowd } from "./crowd.ts";
import { buildEnvironments, fetchAll } from "./environment.ts";
import { checkHost, readHost } from "./host.ts";
import { sumLayers } from "./layer.ts";
import { type DemoOptions, HELP, parseOptions } from "./option.ts";
import { comparePeer } from "./peer.ts";
import { findPython } from "./python.ts";
import { type Results, toReport, toTime } from "./report.ts";
import { openScratch } from "./scratch.ts";
import { showTask, type SingleResult } from "./single.ts";
import { readTasks } from "./task.ts";

let interruptedBy: Deno.Signal | null = null;

async function main(): Promise<number> {
  const options = parseOptions(Deno.args, Deno.env.get("MINISANDBOX_BIN"));
  if (options.help) {
    console.log(HELP.trimEnd());
    return 0;
  }
  const results = await show(options);
  console.log(options.json ? JSON.stringify(results, null, 2) : `\n${toReport(results)}`);
  return results.checks.every(({ isRight }) => isRight) ? 0 : 1;
}

/** Runs all stages, in a temporary folder. */
async function show(options: DemoOptions): Promise<Results> {
  const startedAt = performance.now();
  const elapsed = (): number => performance.now() - startedAt;
  const say = (text: string): void =>
    console.error(`[${(elapsed() / 1_000).toFixed(1).padStart(5)} s] ${text}`);
  prctl(PR.PR_SET_CHILD_SUBREAPER, 1); // What a sandbox leaves behind becomes our child: it is seen.
  await using scratch = await openScratch(options.folder, options);
  await using _children = { [Symbol.asyncDispose]: endChildren };
  say(await readVersion(options.binary));
  if (options.keep) say(`temporary files stay in ${scratch.path}`);
  const python = await findPython(options.pythons, scratch.path);
  say(`Python ${python.version}: ${python.executable}`);
  const checks: Check[] = [];
  const context: Context = {
    binary: options.binary,
    cache: options.folder,
    scratch: scratch.path,
    store: join(scratch.path, "store"),
    python,
    count: options.count,
    checks,
    say,
  };
  const downloadedAfter = elapsed();
  const downloads = await fetchAll(context, await readTasks());
  const downloadMs = elapsed() - downloadedAfter;
  say("building venv.tar.gz and testbed.tar.gz of each task");
  const builtAfter = elapsed();
  const environments = await buildEnvironments(context, downloads);
  const buildMs = elapsed() - builtAfter;
  say(`built in ${toTime(buildMs)}; reading the host's files, mounts and processes`);
  const host = await readHost(context);
  const tasks: SingleResult[] = [];
  for (const environment of environments) tasks.push(await showTask(context, environment));
  const layers = { before: await sumLayers(context), expectedCount: 2 * environments.length };
  const crowd = await showCrowd(context, environments);
  const peer = await comparePeer(context, environments[0]!);
  say("comparing the host with its state before");
  return {
    python: python.version,
    user: Deno.uid() === 0 ? "root" : "ordinary",
    downloadMs,
    buildMs,
    tasks,
    crowd,
    peer,
    host: await checkHost(context, host, layers),
    checks,
    totalMs: elapsed(),
  };
}

async function readVersion(binary: string): Promise<string> {
  try {
    return (await runChecked([binary, "--version"])).stdout.trim();
  } catch (cause) {
    throw new HostError(messageOf(cause), {
      remedy: "Build it by ./dev build, or name another by MINISANDBOX_BIN.",
      cause,
    });
  }
}

/** Ends our children, whose errors then unwind the demo; a second signal ends it at once. */
function endBy(signal: Deno.Signal): void {
  if (interruptedBy !== null) Deno.exit(130);
  interruptedBy = signal;
  console.error(`demo: ${signal}, cleaning up`);
  endChildren();
}

if (import.meta.main) {
  Deno.addSignalListener("SIGINT", () => endBy("SIGINT"));
  Deno.addSignalListener("SIGTERM", () => endBy("SIGTERM"));
  try {
    Deno.exit(await main());
  } catch (error) {
    if (interruptedBy !== null) Deno.exit(interruptedBy === "SIGINT" ? 130 : 143);
    if (!(error instanceof MinisandboxError)) throw error;
    console.error(`demo: ${messageOf(error)}`);
    Deno.exit(1);
  }
}
