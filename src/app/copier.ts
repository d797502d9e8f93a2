/** What sandboxes wrote, copied by one to whom it belongs: by us as root, else by a worker that stays. */
import { dirname } from "@std/path/dirname";
import { GoneError } from "../errors.ts";
import type { Sandbox } from "../sandbox/mod.ts";
import { type Copied, copyTree } from "../store/mod.ts";
import { inputPipe, outputPipe, type PipeReader, type PipeWriter } from "../session/mod.ts";
import type { Worker } from "./confined.ts";
import { bind } from "./worker_base.ts";
import { fromErrorMessage, parseMessage } from "./worker_message.ts";
import { readLines } from "./worker_output.ts";

/** Where it sees the directories of sandboxes. */
const RUNS = "/runs";

/** A worker that nothing was asked of for so long is ended: it takes 50 MB. */
const IDLE_MS = 60_000;

/** A tree, and the empty directory that it is copied to, beside each other's sandboxes. */
export type CopyPair = readonly [from: string, to: string];

/** Copies trees within the directories that sandboxes write to. */
export class Copier implements AsyncDisposable {
  readonly #worker: Worker;
  readonly #isRoot: boolean;
  /** By the directory that holds those of the sandboxes. */
  readonly #helpers = new Map<string, Promise<Helper>>();

  constructor(worker: Worker, isRoot: boolean) {
    this.#worker = worker;
    this.#isRoot = isRoot;
  }

  /**
   * Copies trees.
   *
   * @param dir The directory of a sandbox; all pairs lie in it, or in one beside it.
   * @throws {HostError | Error} If one cannot be copied.
   */
  async copy(dir: string, pairs: readonly CopyPair[]): Promise<readonly Copied[]> {
    if (this.#isRoot) {
      const copied = [];
      for (const [from, to] of pairs) copied.push(await copyTree(from, to));
      return copied;
    }
    const parent = dirname(dir);
    const helper = await this.#helper(parent);
    const seen = (path: string) => RUNS + path.slice(parent.length);
    return await helper.copy(pairs.map(([from, to]) => [seen(from), seen(to)]));
  }

  async #helper(parent: string): Promise<Helper> {
    const known = this.#helpers.get(parent);
    if (known !== undefined) return await known;
    const starting = Helper.start(this.#worker, parent);
    this.#helpers.set(parent, starting);
    const forget = () => this.#helpers.delete(parent);
    starting.then((helper) => helper.ended.then(forget), forget);
    return await starting;
  }

  /** Ends the workers. */
  async [Symbol.asyncDispose](): Promise<void> {
    const helpers = await Promise.allSettled(this.#helpers.values());
    for (const helper of helpers) if (helper.status === "fulfilled") await helper.value.end();
  }
}

/** A worker that copies, one tree after the other. */
class Helper {
  readonly ended: Promise<void>;
  readonly #sandbox: Sandbox;
  readonly #stdin: PipeWriter;
  readonly #waiting = new Map<number, PromiseWithResolvers<readonly Copied[]>>();
  #count = 0;
  #idle: number | undefined;

  static async start(worker: Worker, parent: string): Promise<Helper> {
    const { sandbox, ours } = await worker.start(
      ["__copy"],
      { binds: [bind(parent, RUNS, { isWritable: true })] },
      () => {
        const stdin = inputPipe();
        const stdout = outputPipe();
        const stderr = outputPipe();
        const stdio = { stdin: stdin.theirs, stdout: stdout.theirs, stderr: stderr.theirs };
        return { stdio, ours: { stdin: stdin.ours, stdout: stdout.ours, stderr: stderr.ours } };
      },
    );
    return new Helper(sandbox, ours);
  }

  private constructor(
    sandbox: Sandbox,
    { stdin, stdout, stderr }: {
      readonly stdin: PipeWriter;
      readonly stdout: PipeReader;
      readonly stderr: PipeReader;
    },
  ) {
    this.#sandbox = sandbox;
    this.#stdin = stdin;
    this.ended = this.#read(stdout, stderr);
    this.#arm();
  }

  async copy(pairs: readonly CopyPair[]): Promise<readonly Copied[]> {
    clearTimeout(this.#idle);
    const number = ++this.#count;
    const answer = Promise.withResolvers<readonly Copied[]>();
    this.#waiting.set(number, answer);
    try {
      const line = JSON.stringify({ copy: number, pairs });
      await this.#stdin.write(new TextEncoder().encode(`${line}\n`));
      return await answer.promise;
    } finally {
      this.#waiting.delete(number);
      this.#arm();
    }
  }

  async end(): Promise<void> {
    clearTimeout(this.#idle);
    this.#stdin.close();
    await this.#sandbox.close();
    await this.ended;
  }

  async #read(stdout: PipeReader, stderr: PipeReader): Promise<void> {
    const said = new Response(ReadableStream.from(copies(stderr))).text();
    for await (const line of readLines(stdout)) {
      const message = parseMessage(line);
      if (!("copy" in message)) continue;
      const answer = this.#waiting.get(message.copy);
      const { result } = message;
      if ("class" in result) answer?.reject(fromErrorMessage(result));
      else answer?.resolve(result);
    }
    const why = (await said).trim();
    await this.#sandbox.close();
    for (const { reject } of this.#waiting.values()) {
      reject(new GoneError(`Cannot copy what was written: the worker ended${why && `: ${why}`}`));
    }
  }

  #arm(): void {
    clearTimeout(this.#idle);
    if (this.#waiting.size === 0) this.#idle = setTimeout(() => void this.end(), IDLE_MS);
    if (this.#idle !== undefined) Deno.unrefTimer(this.#idle);
  }
}

async function* copies(reader: PipeReader): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  for await (const chunk of reader) yield chunk.slice();
}
