/** Use case: one command in a new sandbox, from spec to outcome. */
import type { Program, Sandbox } from "../sandbox/mod.ts";
import type { KeepPlace } from "./keep.ts";
import type { Node } from "./node.ts";
import type { RunReport } from "./outcome.ts";
import { openPlace, prepare, type PrepareOptions } from "./prepare.ts";
import { checkSpec, type SandboxSpec } from "./spec.ts";
import { toOutcome, type Used } from "./outcome_of.ts";
import { toProgram } from "./program.ts";
import { NOTHING_USED, ownPeak, readUsed } from "./used.ts";
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
  using keepPlace = keep === null
    ? null
    : (await import("./keep.ts")).openKeepPlace(node, spec, keep);
  await node.store.sweep();
  phases.end("store");
  node.startEngine();
  phases.end("holder");
  const report = await prepareAndRun(node, spec, { ...options, keepPlace });
  await node.store.settle();
  phases.end("close");
  return report;
}

async function prepareAndRun(
  node: Node,
  spec: SandboxSpec,
  options: RunOptions & { readonly keepPlace: KeepPlace | null },
): Promise<RunReport> {
  const { phases, signal, keepPlace, onNote = () => {} } = options;
  const { engine } = node;
  using prepared = await prepare(node, spec, options);
  const program = toProgram(spec, prepared.user);
  signal.throwIfAborted();

  await engine.fill(1);
  phases.end("namespaces");
  await using place = await openPlace(node, spec, prepared);
  const sandbox = await engine.create(place.layout, prepared.user, place);
  phases.end("create");
  let report: RunReport;
  try {
    report = await runIn(sandbox, program, spec, options);
  } finally {
    await sandbox.close();
  }
  if (keepPlace !== null) {
    const { keepUpper } = await import("./keep.ts");
    await keepUpper(node, spec, { layout: place.layout, place: keepPlace, onNote, signal });
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
  const process = await sandbox.start({ ...program, pty, hasStdin: wiring.hasStdin }, theirs).catch(
    (error) => {
      disconnect(ours);
      throw error;
    },
  );
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
    const used = end.used ?? readUsed(sandbox, waited.status === 0);
    return {
      outcome: toOutcome(waited, end.reason, used),
      phases,
      cpuMs: waited.cpuMs,
      peakMemoryBytes: used.usage.peakMemoryBytes ?? ownPeak(waited),
    };
  } finally {
    end.cancel();
    signal.removeEventListener("abort", end.stop);
  }
}

/** What ends a command from outside, and why. */
class Ending {
  /** Null as long as the command is left to itself. */
  reason: "timedOut" | "outputLimit" | null = null;
  /** What had been used then. */
  used: Used | null = null;
  readonly #sandbox: Sandbox;
  readonly #timer: number | undefined;
  #isStopped = false;

  constructor(sandbox: Sandbox, timeoutMs: number | null) {
    this.#sandbox = sandbox;
    if (timeoutMs !== null) this.#timer = setTimeout(() => this.stop("timedOut"), timeoutMs);
  }

  /** Closes the sandbox; the first call stands. */
  readonly stop = (reason: "timedOut" | "outputLimit" | Event): void => {
    if (this.#isStopped) return;
    this.#isStopped = true;
    if (typeof reason === "string") {
      this.reason = reason;
      this.used = this.#readUsed();
    }
    void this.#sandbox.close();
  };

  /** What cannot be told does not keep the command from being ended. */
  #readUsed(): Used {
    try {
      return readUsed(this.#sandbox, false);
    } catch {
      return NOTHING_USED;
    }
  }

  /** Lets the time-out go. */
  cancel(): void {
    clearTimeout(this.#timer);
  }
}
