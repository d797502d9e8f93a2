/** A server under test, and a client of it on its stdin and stdout. */
import { assert } from "@std/assert";
import { TextLineStream } from "@std/streams/text-line-stream";
import { AnswerError, Client } from "../../src/rpc/mod.ts";
import { start } from "./minisandbox.ts";

/** What a program came to, as the server tells it. */
export interface RunAnswer {
  readonly outcome: {
    readonly kind: string;
    readonly code: number | null;
    readonly signal: string | null;
    readonly reached: string[];
  };
  readonly durationMs: number;
  readonly stdout: TextAnswer;
  readonly stderr: TextAnswer;
}

/** What it printed. */
export interface TextAnswer {
  readonly text: string;
  readonly lossy: boolean;
  readonly base64?: string;
  readonly totalBytes: number;
  readonly omittedBytes: number;
  readonly tail?: { readonly text: string };
}

/** A notification that came. */
export interface Notified {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/** A test that has failed leaves calls behind: they are not waited for. */
const DRAIN = ["--drain", "2s"];

/** What a server says of itself, as far as tests ask. */
export interface Metrics {
  readonly sandboxes: {
    readonly live: number;
    readonly ready: number;
    readonly readyWanted: number;
  };
  readonly process: {
    readonly residentBytes: number;
    readonly openFiles: number;
    readonly threads: number;
  };
}

/** Lists the processes whose parent a server is: init of each sandbox, ready ones among them. */
export function childrenOf(server: TestServer): number[] {
  const { pid } = server.child;
  const text = Deno.readTextFileSync(`/proc/${pid}/task/${pid}/children`).trim();
  return text === "" ? [] : text.split(" ").map(Number);
}

/** A server that ends with its stdin. */
export class TestServer implements AsyncDisposable {
  readonly child: Deno.ChildProcess;
  readonly client: Client;
  readonly notified: Notified[] = [];
  /** What it told its operator, a line an event. */
  readonly log: string[] = [];
  readonly #logged: Promise<void>;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>>;
  /** Who waits for a notification or a line of the log. */
  #onNews: (() => void)[] = [];

  constructor(...args: readonly string[]) {
    this.child = start(["serve", ...(args.includes("--drain") ? [] : DRAIN), ...args]);
    this.#logged = this.#readLog();
    this.#writer = this.child.stdin.getWriter();
    this.client = new Client({
      input: this.child.stdout,
      output: { write: (bytes) => this.send(bytes) },
      onNotification: (method, params) => {
        this.notified.push({ method, params: params as Notified["params"] });
        this.#wake();
      },
    });
  }

  /** Sends bytes as they are. */
  async send(bytes: Uint8Array<ArrayBuffer> | string): Promise<boolean> {
    try {
      await this.#writer.write(typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes);
      return true;
    } catch {
      return false;
    }
  }

  /** Gives the metrics once it has made all that it makes while nothing is asked. */
  async whenReady(): Promise<Metrics> {
    for (;;) {
      const metrics = await this.call<Metrics>("metrics");
      if (metrics.sandboxes.ready >= metrics.sandboxes.readyWanted) return metrics;
    }
  }

  /** Calls a method. */
  call<T = Record<string, unknown>>(
    method: string,
    params?: object,
    signal?: AbortSignal,
  ): Promise<T> {
    return this.client.call<T>(method, params ?? {}, signal);
  }

  /** Makes a sandbox, and gives its id. */
  async create(params: object = {}): Promise<string> {
    return (await this.call<{ sandbox: string }>("sandbox.create", params)).sandbox;
  }

  /** Runs a program to its end. */
  run(sandbox: string, command: string | string[], more: object = {}): Promise<RunAnswer> {
    return this.call<RunAnswer>("process.run", { sandbox, command, ...more });
  }

  /** Waits until the notifications that came satisfy a condition. */
  async until(isReached: (notified: readonly Notified[]) => boolean): Promise<void> {
    while (!isReached(this.notified)) {
      await this.#news();
    }
  }

  /** Waits for a line of the log, and gives it. */
  async untilLogged(pattern: RegExp): Promise<string> {
    for (;;) {
      const found = this.log.find((line) => pattern.test(line));
      if (found !== undefined) return found;
      await this.#news();
    }
  }

  #news(): Promise<void> {
    return new Promise<void>((resolve) => this.#onNews.push(resolve));
  }

  #wake(): void {
    for (const wake of this.#onNews.splice(0)) wake();
  }

  async #readLog(): Promise<void> {
    const lines = this.child.stderr
      .pipeThrough(new TextDecoderStream())
      .pipeThrough(new TextLineStream());
    for await (const line of lines) {
      this.log.push(line);
      this.#wake();
    }
  }

  /** Closes its stdin, and gives its exit code. */
  async end(): Promise<number> {
    await this.#writer.close().catch(() => {});
    await this.client.ended.catch(() => {});
    const { code } = await this.child.status;
    await this.#logged;
    return code;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
  }
}

/** Gives the error that a call is answered with. */
export async function answerError(call: Promise<unknown>): Promise<AnswerError> {
  const error = await call.then(() => null, (error) => error);
  assert(error instanceof AnswerError, `no error of the server: ${error}`);
  return error;
}
