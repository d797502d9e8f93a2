/** Use case: one command in a new sandbox, from spec to outcome. */
import { GoneError } from "../errors.ts";
import type { Program, Sandbox, Waited } from "../sandbox/mod.ts";
import type { Node } from "./node.ts";
import type { Outcome, RunReport } from "./outcome.ts";
import { openPlace, prepare, type PrepareOptions } from "./prepare.ts";
import { checkSpec, type SandboxSpec } from "./spec.ts";
import { toOutcome } from "./outcome_of.ts";
import { connect, disconnect, limitOutput, type Wires, type Wiring } from "./wire.ts";

/** What the caller decides, and hears of while a run goes on. */
export interface RunOptions extends PrepareOptions {
  /** Where to keep what was written: a name, or a directory, which holds a slash. */
  readonly keep?: string | null;
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
  const { phases, keep = null } = options;
  if (keep !== null) (await import("./keep.ts")).checkKeep(node, spec, keep);
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
  const { phases, signal, keep = null, onNote = () => {} } = options;
  const { engine } = node;
  using prepared = await prepare(node, spec, options);
  signal.throwIfAborted();

  engine.fill(1);
  phases.end("namespaces");
  await using place = await openPlace(node, spec, prepared);
  const { program, user } = prepared;
  const sandbox = engine.create(place.layout, user, place.lockFd);
  phases.end("create");
  let report: RunReport;
  try {
    report = await runIn(sandbox, program, spec, options);
  } finally {
    await sandbox.close();
  }
  if (keep !== null) {
    const { keepUpper } = await import("./keep.ts");
    await keepUpper(node, spec, { layout: place.layout, place: keep, onNote, signal });
    phases.end("keep");
  }
  return report;
}

async function runIn(
  sandbox: Sandbox,
  program: Program,
  { timeoutMs, limits }: SandboxSpec,
  { phases, signal, wiring, onStart }: RunOptions,
): Promise<RunReport> {
  const { ours, theirs, pty } = connect(sandbox, wiring);
  const process = await sandbox.start({ ...program, pty }, theirs).catch((error) => {
    disconnect(ours);
    throw error;
  });
  phases.end("start");

  const end = new Ending(sandbox, timeoutMs);
  signal.addEventListener("abort", end.stop);
  try {
    signal.throwIfAborted();
    onStart({
      wires: limitOutput(ours, limits.outputBytes, () => end.stop("outputLimit")),
      kill: (number) => process.signal(number),
    });
    const waited = await process.wait();
    phases.end("program");
    signal.throwIfAborted();
    const usage = end.reason === null ? sandbox.readUsage() : null;
    // Who succeeded was not stopped by a full disk.
    const fullPlaces = usage === null || waited.status === 0 ? [] : findFullPlaces(sandbox);
    return {
      outcome: toOutcome(waited, end.reason, usage === null ? null : { usage, fullPlaces }),
      phases,
      cpuMs: waited.cpuMs,
      peakMemoryBytes: usage?.peakMemoryBytes ?? ownPeak(waited),
    };
  } finally {
    end.cancel();
    signal.removeEventListener("abort", end.stop);
  }
}

/** A sandbox whose init was ended, by the host or for want of memory, has no places any more. */
function findFullPlaces(sandbox: Sandbox): string[] {
  try {
    return sandbox.findFullPlaces();
  } catch (error) {
    if (error instanceof GoneError) return [];
    throw error;
  }
}

/** What ends a command from outside, and why. */
class Ending {
  /** Null as long as the command is left to itself. */
  reason: "timedOut" | "outputLimit" | null = null;
  readonly #sandbox: Sandbox;
  readonly #timer: number | undefined;

  constructor(sandbox: Sandbox, timeoutMs: number | null) {
    this.#sandbox = sandbox;
    if (timeoutMs !== null) this.#timer = setTimeout(() => this.stop("timedOut"), timeoutMs);
  }

  /** Closes the sandbox; the first reason stands. */
  readonly stop = (reason: "timedOut" | "outputLimit" | Event): void => {
    if (typeof reason === "string") this.reason ??= reason;
    void this.#sandbox.close();
  };

  /** Lets the time-out go. */
  cancel(): void {
    clearTimeout(this.#timer);
  }
}

/** A process that has executed a program still counts the memory it had shared with us before. */
function ownPeak({ peakMemoryBytes }: Waited): number | null {
  const [, kib] = /^VmHWM:\s+(\d+)/m.exec(Deno.readTextFileSync("/proc/self/status")) ?? [];
  return peakMemoryBytes > Number(kib ?? 0) * 1024 ? peakMemoryBytes : null;
}
