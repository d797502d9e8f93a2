/** A program of process.start or process.run: what it printed is kept, streamed, or both. */
import type { Program, Sandbox } from "../../sandbox/mod.ts";
import { type Collected, Collector, type Keep } from "./collector.ts";
import {
  LiveProcess,
  type ProcessEnd,
  type ProcessOptions,
  type StreamName,
} from "./live_process.ts";
import type { Base64Wish } from "./text.ts";

/** Gets what is streamed: bytes from an offset in the stream on. */
export type Stream = (
  name: StreamName,
  offset: number,
  bytes: Uint8Array<ArrayBuffer>,
) => Promise<void>;

/** How it is run, and what becomes of its output. */
export interface StartOptions extends Omit<ProcessOptions, "onOutput"> {
  readonly keep: Keep;
  /** Null if nothing is streamed. */
  readonly stream: Stream | null;
}

/** What a caller is told at the end. */
export interface ProcessResult extends ProcessEnd {
  readonly stdout: Collected;
  readonly stderr: Collected;
}

/** A program, and what it has printed. */
export class StartedProcess {
  readonly live: LiveProcess;
  readonly started = new Date();
  /** What it came to; null while it runs. */
  end: ProcessEnd | null = null;
  readonly #collectors: Readonly<Record<StreamName, Collector>>;

  /** Starts it. @throws As `LiveProcess.start`. */
  static async start(
    sandbox: Sandbox,
    program: Program,
    options: StartOptions,
  ): Promise<StartedProcess> {
    const { keep, stream } = options;
    const collectors = { stdout: new Collector(keep), stderr: new Collector(keep) };
    const live = await LiveProcess.start(sandbox, program, {
      ...options,
      onOutput: (name, bytes) => {
        const offset = collectors[name].totalBytes;
        collectors[name].push(bytes);
        return stream?.(name, offset, bytes);
      },
    });
    return new StartedProcess(live, collectors);
  }

  private constructor(live: LiveProcess, collectors: Readonly<Record<StreamName, Collector>>) {
    this.live = live;
    this.#collectors = collectors;
    live.ended.then((end) => this.end = end, () => {});
  }

  /** Waits for its end. @throws {GoneError} If the sandbox ended first. */
  async wait(withBase64: Base64Wish): Promise<ProcessResult> {
    const end = await this.live.ended;
    return { ...end, ...this.collect(withBase64) };
  }

  /** Gives what it has printed so far. */
  collect(withBase64: Base64Wish): Pick<ProcessResult, "stdout" | "stderr"> {
    const { stdout, stderr } = this.#collectors;
    return { stdout: stdout.collect(withBase64), stderr: stderr.collect(withBase64) };
  }
}
