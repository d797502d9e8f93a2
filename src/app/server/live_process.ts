/** One program of a live sandbox: its streams, its deadlines, and how it ended. */
import { GoneError } from "../../errors.ts";
import type { Process, Program, Sandbox, Usage } from "../../sandbox/mod.ts";
import type { PipeReader } from "../../session/mod.ts";
import type { Outcome } from "../outcome.ts";
import { type EndReason, toOutcome, type Used } from "../outcome_of.ts";
import { signalNumber } from "../signal.ts";
import { NOTHING_USED, ownPeak, readUsed, usedSince } from "../used.ts";
import { connect, disconnect, type WindowSize, type Wires } from "../wire.ts";

const SIGKILL = signalNumber("SIGKILL");

/** Which of a program's streams: on a terminal, and where they are merged, there is only `stdout`. */
export type StreamName = "stdout" | "stderr";

/** Takes what a program prints; while it has not returned, nothing more is read. */
export type OnOutput = (stream: StreamName, bytes: Uint8Array<ArrayBuffer>) =>
  | void
  | Promise<void>
  | undefined;

/** How a program is run. */
export interface ProcessOptions {
  /** What it reads first; null for nothing at all. */
  readonly stdin: Uint8Array<ArrayBuffer> | null;
  /** Whether more may be written to its stdin. */
  readonly staysOpen: boolean;
  /** The size of its terminal, or null for pipes. */
  readonly terminal: WindowSize | null;
  /** Whether stdout and stderr are one stream. */
  readonly isMerged: boolean;
  readonly timeoutMs: number | null;
  /** How long it may print nothing. */
  readonly noOutputMs: number | null;
  /** How much it may print in all. */
  readonly maxOutputBytes: number | null;
  readonly onOutput: OnOutput;
}

/** What a program came to. */
export interface ProcessEnd {
  readonly outcome: Outcome;
  readonly durationMs: number;
  readonly cpuMs: number;
  /** Null where it stayed below our own. */
  readonly peakMemoryBytes: number | null;
}

/** A program that runs, or has run. */
export class LiveProcess {
  readonly argv: readonly string[];
  /** Resolves once it has ended and all that it printed was taken. */
  readonly ended: Promise<ProcessEnd>;
  readonly #sandbox: Sandbox;
  readonly #process: Process;
  readonly #wires: Wires<PipeReader>;
  readonly #options: ProcessOptions;
  readonly #begin = performance.now();
  #reason: EndReason | null = null;
  /** What had been used when it was stopped. */
  #used: Used | null = null;
  #printed = 0;
  #hasStdin: boolean;
  #isOver = false;
  #idleTimer: number | undefined;

  /**
   * Starts a program.
   *
   * @throws {CommandError} If it is missing or cannot be executed.
   * @throws {GoneError} If the sandbox has ended.
   */
  static async start(
    sandbox: Sandbox,
    program: Program,
    options: ProcessOptions,
  ): Promise<LiveProcess> {
    const { stdin, staysOpen, terminal, isMerged } = options;
    const hasStdin = stdin !== null || staysOpen;
    const before = sandbox.readUsage();
    const { ours, theirs, pty } = connect(sandbox, { hasStdin, terminal, isMerged });
    try {
      const process = await sandbox.start({ ...program, pty, hasStdin }, theirs);
      return new LiveProcess(
        sandbox,
        { process, wires: ours, argv: program.argv, before },
        options,
      );
    } catch (error) {
      disconnect(ours);
      throw error;
    }
  }

  private constructor(
    sandbox: Sandbox,
    { process, wires, argv, before }: {
      readonly process: Process;
      readonly wires: Wires<PipeReader>;
      readonly argv: readonly string[];
      readonly before: Usage;
    },
    options: ProcessOptions,
  ) {
    this.#sandbox = sandbox;
    this.#process = process;
    this.#wires = wires;
    this.#options = options;
    this.argv = argv;
    this.#hasStdin = wires.stdin !== null;
    this.ended = this.#run(before);
    this.ended.catch(() => {}); // told to whoever asks
    if (wires.stdin !== null) void this.#feed(options.stdin ?? new Uint8Array());
  }

  /** The host's process id. */
  get pid(): number {
    return this.#process.pid;
  }

  /** Writes to its stdin; false if nobody reads it any more. */
  async write(bytes: Uint8Array<ArrayBuffer>, isLast: boolean): Promise<boolean> {
    if (!this.#hasStdin) return false;
    const isTaken = await this.#wires.stdin!.write(bytes);
    if (isLast || !isTaken) this.#closeStdin();
    return isTaken;
  }

  /** Sends a signal to it; false if it has ended. */
  signal(signal: number): boolean {
    return this.#process.signal(signal);
  }

  /** Tells it of a new size of its terminal. */
  resize(size: WindowSize): void {
    this.#wires.resize(size);
  }

  /** Ends it and all that belongs to it; the first reason stands. */
  stop(reason: EndReason): void {
    if (this.#reason !== null) return;
    this.#reason = reason;
    this.#used = this.#readUsed();
    // What of it cannot be ended yet must not keep the answer back.
    this.#sandbox.endTree(this.#process).catch(() => this.#process.signal(SIGKILL));
  }

  async #run(before: Usage): Promise<ProcessEnd> {
    const { timeoutMs } = this.#options;
    const timer = timeoutMs === null
      ? undefined
      : setTimeout(() => this.stop("timedOut"), timeoutMs);
    this.#watchSilence();
    const waiting = this.#process.wait();
    const { stdout, stderr } = this.#wires;
    const pumped = Promise.all([
      this.#pump("stdout", stdout, waiting),
      ...(stderr === null ? [] : [this.#pump("stderr", stderr, waiting)]),
    ]);
    pumped.catch(() => this.stop("cancelled"));
    const waited = await waiting;
    clearTimeout(timer);
    this.#isOver = true;
    clearTimeout(this.#idleTimer);
    const durationMs = performance.now() - this.#begin;
    this.#closeStdin();
    await pumped;
    // Daemons that it leaves may print on: it is read, and forgotten.
    for (const stream of [stdout, stderr]) if (stream !== null) void discard(stream);
    if (!this.#sandbox.isAlive) {
      throw new GoneError(`Cannot tell how ${JSON.stringify(this.argv[0])} ended: the sandbox did`);
    }
    const used = this.#used ?? readUsed(this.#sandbox, waited.status === 0);
    return {
      outcome: toOutcome(waited, this.#reason, usedSince(before, used)),
      durationMs,
      cpuMs: waited.cpuMs,
      peakMemoryBytes: ownPeak(waited),
    };
  }

  async #pump(name: StreamName, from: PipeReader, ended: Promise<unknown>): Promise<void> {
    const { maxOutputBytes, onOutput } = this.#options;
    for await (const chunk of from.until(ended)) {
      const room = maxOutputBytes === null ? chunk.length : maxOutputBytes - this.#printed;
      const part = chunk.subarray(0, Math.max(0, room));
      this.#printed += part.length;
      if (part.length > 0) await onOutput(name, part);
      this.#watchSilence();
      if (part.length < chunk.length) return this.stop("outputLimit");
    }
  }

  /** What cannot be told does not keep it from being ended. */
  #readUsed(): Used {
    try {
      return readUsed(this.#sandbox, false);
    } catch {
      return NOTHING_USED;
    }
  }

  #watchSilence(): void {
    const { noOutputMs } = this.#options;
    if (noOutputMs === null || this.#isOver) return;
    clearTimeout(this.#idleTimer);
    this.#idleTimer = setTimeout(() => this.stop("noOutput"), noOutputMs);
  }

  async #feed(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    const isTaken = await this.#wires.stdin!.write(bytes);
    if (!this.#options.staysOpen || !isTaken) this.#closeStdin();
  }

  #closeStdin(): void {
    this.#hasStdin = false;
    this.#wires.stdin?.close();
  }
}

async function discard(from: PipeReader): Promise<void> {
  for await (const _ of from) { /* nobody wants it */ }
}
