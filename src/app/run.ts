/** Use case: one command in a new sandbox, from spec to outcome. */
import { type Program, type Sandbox, signalName } from "../sandbox/mod.ts";
import type { Node } from "./node.ts";
import type { Outcome, RunReport } from "./outcome.ts";
import { openPlace, prepare, type PrepareOptions } from "./prepare.ts";
import { checkSpec, type SandboxSpec } from "./spec.ts";
import { connect, disconnect, type Wires, type Wiring } from "./wire.ts";

/** What the caller decides, and hears of while a run goes on. */
export interface RunOptions extends PrepareOptions {
  readonly wiring: Wiring;
  /** Called with the started command: its streams are to be read from then on. */
  readonly onStart: (command: RunningCommand) => void;
}

/** A command that runs. */
export interface RunningCommand {
  readonly wires: Wires;
  /** Sends a signal to it; false if it has ended. */
  readonly kill: (signal: number) => boolean;
}

/**
 * Runs the spec's command in a sandbox of its own, of which nothing is left afterwards.
 *
 * @throws {MinisandboxError} If it cannot be brought about.
 */
export async function run(node: Node, spec: SandboxSpec, options: RunOptions): Promise<RunReport> {
  checkSpec(spec);
  const { phases } = options;
  await node.store.sweep();
  phases.end("store");
  node.startEngine();
  phases.end("holder");
  const report = await prepareAndRun(node, spec, options);
  phases.end("close");
  return report;
}

async function prepareAndRun(
  node: Node,
  spec: SandboxSpec,
  options: RunOptions,
): Promise<RunReport> {
  const { phases, signal } = options;
  const { engine } = node;
  using prepared = await prepare(node, spec, options);
  signal.throwIfAborted();

  engine.fill(1);
  phases.end("namespaces");
  await using place = await openPlace(node, spec, prepared);
  const { program, user } = prepared;
  const sandbox = engine.create(place.layout, user, place.lockFd);
  phases.end("create");
  try {
    return await runIn(sandbox, program, spec.timeoutMs, options);
  } finally {
    await sandbox.close();
  }
}

async function runIn(
  sandbox: Sandbox,
  program: Program,
  timeoutMs: number | null,
  { phases, signal, wiring, onStart }: RunOptions,
): Promise<RunReport> {
  const { ours, theirs, pty } = connect(sandbox, wiring);
  const process = await sandbox.start({ ...program, pty }, theirs).catch((error) => {
    disconnect(ours);
    throw error;
  });
  phases.end("start");

  let isTimedOut = false;
  const stop = () => void sandbox.close();
  const timer = timeoutMs === null ? undefined : setTimeout(() => {
    isTimedOut = true;
    stop();
  }, timeoutMs);
  signal.addEventListener("abort", stop);
  try {
    onStart({ wires: ours, kill: (number) => process.signal(number) });
    const { status, signal: killer, cpuMs, peakMemoryBytes } = await process.wait();
    phases.end("program");
    signal.throwIfAborted();
    return {
      outcome: toOutcome(isTimedOut, status, killer),
      phases,
      cpuMs,
      peakMemoryBytes: peakMemoryBytes > ownPeakBytes() ? peakMemoryBytes : null,
    };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
  }
}

/** A process that has executed a program still counts the memory it had shared with us before. */
function ownPeakBytes(): number {
  const [, kib] = /^VmHWM:\s+(\d+)/m.exec(Deno.readTextFileSync("/proc/self/status")) ?? [];
  return Number(kib ?? 0) * 1024;
}

function toOutcome(isTimedOut: boolean, status: number | null, signal: number | null): Outcome {
  if (isTimedOut) return { kind: "timedOut", code: null, signal: null };
  if (signal !== null) return { kind: "signaled", code: null, signal: signalName(signal) };
  return { kind: "exited", code: status, signal: null };
}
