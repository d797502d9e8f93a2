/** An interactive program in a session: what it prints is waited for, what it reads is sent. */
import type { Bash } from "./bash.ts";
import { Command, type Place } from "./command.ts";
import type { Pattern } from "./expect.ts";
import type { RunResult } from "./outcome.ts";
import type { Output } from "./output.ts";
import { Pending } from "./pending.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** What came of waiting. */
export interface Exchange {
  /** What was printed up to the match; without one all that there was. */
  readonly output: Bytes;
  /** The pattern that was found, and what matched it. */
  readonly match: { readonly index: number; readonly bytes: Bytes } | null;
  /** Whether nothing was found in time: the program goes on. */
  readonly isTimedOut: boolean;
  /** What the program came to, if it has ended; its last output is `output`. */
  readonly result: RunResult | null;
}

interface Waiting {
  readonly expect?: readonly Pattern[];
  readonly timeoutMs?: number | null;
}

/** What it types is waited for so long if nothing is said, should the program not read it. */
const TYPE_MS = 10_000;

/** A program that runs. */
export class Program {
  readonly command: Command;
  #result: Promise<RunResult> | undefined;
  readonly #pending = new Pending();
  #news = Promise.withResolvers<void>();

  /** Starts it. @throws {SetupError} If it cannot be sent. */
  constructor(place: Place, text: Bytes) {
    this.command = new Command(place, text, {
      kind: { isChecked: true, hasInput: true },
      output: { headBytes: 0, tailBytes: 0 },
      onOutput: (bytes) => {
        this.#pending.push(bytes);
        this.#news.resolve();
      },
    });
  }

  /** Resolves once it has ended. */
  get result(): Promise<RunResult> {
    return this.#result!;
  }

  /** Says what resolves once it has ended. */
  follow(result: Promise<RunResult>): void {
    this.#result = result;
    result.catch(() => {}); // told to whoever waits for the program
  }

  /** What it has printed and nobody has been given. */
  rest(): Output {
    const head = this.#pending.take();
    return {
      head,
      tail: new Uint8Array(),
      totalBytes: head.length + this.#pending.droppedBytes,
      isTruncated: this.#pending.droppedBytes > 0,
    };
  }

  /** Waits for one of the patterns, or the end. */
  async expect({ expect = [], timeoutMs = null }: Waiting): Promise<Exchange> {
    const over = Promise.withResolvers<"over">();
    const timer = timeoutMs === null
      ? undefined
      : setTimeout(() => over.resolve("over"), timeoutMs);
    const ended = this.result.then(() => "ended" as const);
    ended.catch(() => {});
    try {
      for (;;) {
        this.#news = Promise.withResolvers();
        const match = this.#pending.find(expect);
        if (match !== null) {
          const output = this.#pending.take(match.start);
          const bytes = this.#pending.take(match.end - match.start);
          return { output, match: { index: match.index, bytes }, isTimedOut: false, result: null };
        }
        const what = await Promise.race([ended, over.promise, this.#news.promise]);
        if (what === "ended") return this.#toEnd(await this.result);
        if (what === "over") return this.#unfinished();
      }
    } finally {
      clearTimeout(timer);
    }
  }

  /** Types bytes, and waits. */
  async send(
    bash: Bash,
    bytes: Bytes,
    { expect = [], timeoutMs = null, isQuit = false }: Waiting & { readonly isQuit?: boolean },
  ): Promise<Exchange> {
    const begin = performance.now();
    if (!await bash.type(bytes, timeoutMs ?? TYPE_MS)) return this.#unfinished();
    const left = timeoutMs === null ? null : Math.max(0, timeoutMs - (performance.now() - begin));
    if (expect.length === 0 && !isQuit) {
      return { output: new Uint8Array(), match: null, isTimedOut: false, result: null };
    }
    return await this.expect({ expect: isQuit ? [] : expect, timeoutMs: left });
  }

  /** Interrupts it; with patterns it may go on once one of them has come. */
  async interrupt(
    { expect = [], timeoutMs, retries }: {
      readonly expect?: readonly Pattern[];
      readonly timeoutMs: number;
      readonly retries: number;
    },
  ): Promise<Exchange> {
    let exchange: Exchange | undefined;
    await this.command.interrupt({ timeoutMs, retries }, async (ms) => {
      exchange = await this.expect({ expect, timeoutMs: ms });
      return !exchange.isTimedOut;
    });
    return exchange === undefined || exchange.isTimedOut
      ? this.#toEnd(await this.result)
      : exchange;
  }

  #toEnd(result: RunResult): Exchange {
    return { output: result.output.head, match: null, isTimedOut: false, result };
  }

  #unfinished(): Exchange {
    return { output: new Uint8Array(), match: null, isTimedOut: true, result: null };
  }
}
