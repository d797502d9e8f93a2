/** A program of process.start or process.run: what it printed is kept, streamed, or both. */
import type { Program, Sandbox } from "../../sandbox/mod.ts";
import { HeadTail, type OutputLimit } from "../../session/mod.ts";
import { type Collected, toCollected } from "./collected.ts";
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
  readonly keep: OutputLimit;
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
  readonly #printed: Readonly<Record<StreamName, HeadTail>>;

  /** Starts it. @throws As `LiveProcess.start`. */
  static async start(
    sandbox: Sandbox,
    program: Program,
    options: StartOptions,
  ): Promise<StartedProcess> {
    const { keep, stream } = options;
    const printed = { stdout: new HeadTail(keep), stderr: new HeadTail(keep) };
    const live = await LiveProcess.start(sandbox, program, {
      ...options,
      onOutput: (name, bytes) => {
        const offset = printed[name].totalBytes;
        printed[name].push(bytes);
        return stream?.(name, offset, bytes);
      },
    });
    return new StartedProcess(live, printed);
  }

  private constructor(live: LiveProcess, printed: Readonly<Record<StreamName, HeadTail>>) {
    this.live = live;
    this.#printed = printed;
    live.ended.then((end) => this.end = end, () => {});
  }

  /** Waits for its end. @throws {GoneError} If the sandbox ended first. */
  async wait(withBase64: Base64Wish): Promise<ProcessResult> {
    const end = await this.live.ended;
    return { ...end, ...this.collect(withBase64) };
  }

  /** Gives what it has printed so far. */
  collect(withBase64: Base64Wish): Pick<ProcessResult, "stdout" | "stderr"> {
    const { stdout, stderr } = this.#printed;
    return {
      stdout: toCollected(stdout.read(), withBase64),
      stderr: toCollected(stderr.read(), withBase64),
    };
  }
}
