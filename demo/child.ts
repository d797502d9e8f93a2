/** Child processes of the demo, all known, so that an early end leaves none behind. */
import { abortable } from "@std/async/abortable";
import { delay } from "@std/async/delay";
import { toText } from "@std/streams/to-text";
import { HostError } from "../src/errors.ts";

/** What a child process gave. */
export interface ChildResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly durationMs: number;
}

/** A process of this machine. */
export interface Process {
  readonly pid: number;
  readonly name: string;
}

/** Where and with what a child process runs. */
export interface ChildOptions {
  readonly cwd?: string;
  readonly env?: Record<string, string>;
}

const children = new Set<Deno.ChildProcess>();
let ending: Promise<void> | null = null;

/** Starts a child process with pipes for stdout and stderr, and for stdin if asked. */
export function start(
  command: readonly string[],
  options: ChildOptions & { readonly stdin?: "piped" | "null" } = {},
): Deno.ChildProcess {
  if (ending !== null) throw new HostError(`Cannot start "${command[0]}": the demo is ending`);
  const [program = "", ...args] = command;
  const child = new Deno.Command(program, {
    args,
    stdin: "null",
    ...options,
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  children.add(child);
  child.status.finally(() => children.delete(child));
  return child;
}

/** Runs a child process to its end. */
export async function run(
  command: readonly string[],
  options: ChildOptions = {},
): Promise<ChildResult> {
  const startedAt = performance.now();
  const child = start(command, options);
  const [stdout, stderr, { code }] = await Promise.all([
    toText(child.stdout),
    toText(child.stderr),
    child.status,
  ]);
  return { code, stdout, stderr, durationMs: performance.now() - startedAt };
}

/**
 * Runs a child process that has to succeed.
 *
 * @throws {HostError} If it cannot start or exits with an error.
 */
export async function runChecked(
  command: readonly string[],
  options: ChildOptions = {},
): Promise<ChildResult> {
  let result: ChildResult;
  try {
    result = await run(command, options);
  } catch (cause) {
    if (cause instanceof Deno.errors.NotFound) {
      throw new HostError(`Cannot run "${command[0]}": not found in PATH`, { cause });
    }
    if (cause instanceof Deno.errors.PermissionDenied) {
      throw new HostError(`Cannot run "${command[0]}": permission denied`, { cause });
    }
    throw cause;
  }
  if (result.code === 0) return result;
  const reason = result.stderr.trim().split("\n").slice(-5).join("\n");
  throw new HostError(`Cannot run "${command.join(" ")}": exit code ${result.code}\n${reason}`);
}

/**
 * Lists our living child processes. As this process adopts orphans (it is a "child subreaper"),
 * what an ended child left behind is among them.
 */
export async function listLiving(): Promise<Process[]> {
  const stats = await Array.fromAsync(
    Deno.readDir("/proc"),
    ({ name }) => /^\d+$/.test(name) ? Deno.readTextFile(`/proc/${name}/stat`).catch(() => "") : "",
  );
  return stats.flatMap((stat) => {
    const [, pid, name = "", state, parent] = stat.match(/^(\d+) \(([^]*)\) (\S) (\d+)/) ?? [];
    const isLiving = parent === String(Deno.pid) && state !== "Z";
    return isLiving ? [{ pid: Number(pid), name }] : [];
  });
}

/** Ends every child process that still runs, and what it leaves, and lets no other start. */
export function endChildren(): Promise<void> {
  ending ??= killChildren();
  return ending;
}

async function killChildren(): Promise<void> {
  for (const { pid } of children) kill(pid, "SIGTERM");
  const signal = AbortSignal.timeout(5_000);
  await Promise.allSettled([...children].map((child) => abortable(child.status, signal)));
  for (let tries = 0; tries < 500; tries++) {
    const living = await listLiving();
    if (living.length === 0) return;
    for (const { pid } of living) kill(pid, "SIGKILL");
    await delay(10);
  }
}

/** Sends a signal to a process, which may have ended by itself. */
function kill(pid: number, signal: Deno.Signal): void {
  try {
    Deno.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
