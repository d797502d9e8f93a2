/** The other side of a connection: calls methods, and hears notifications. */
import { GoneError } from "../errors.ts";
import { encodeFrame, FrameDecoder } from "./frame.ts";
import type { Output } from "./outbox.ts";

/** An error that a server has answered with. */
export class AnswerError extends Error {
  override readonly name = "AnswerError";
  readonly code: number;
  /** `kind`, and what else the error knows. */
  readonly data: { readonly kind: string; readonly [field: string]: unknown };

  constructor({ code, message, data }: Pick<AnswerError, "code" | "message" | "data">) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** What a client is made of. */
export interface ClientOptions {
  readonly input: AsyncIterable<Uint8Array>;
  readonly output: Output;
  readonly onNotification?: (method: string, params: unknown) => void;
}

/** An answer as it comes. */
interface AnswerMessage {
  readonly id?: number;
  readonly method?: string;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: Pick<AnswerError, "code" | "message" | "data">;
}

/** The longest answer that is taken. */
const MAX_BYTES = 1 << 30;

/** Calls the methods of one server. */
export class Client {
  readonly #options: ClientOptions;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  readonly #ended: Promise<void>;
  #count = 0;
  #isOver = false;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#ended = this.#read();
  }

  /** Resolves when the server sends no more. */
  get ended(): Promise<void> {
    return this.#ended;
  }

  /**
   * Calls a method.
   *
   * @param signal Cancels it.
   * @throws {AnswerError} If the server answers with an error.
   * @throws {GoneError} If the connection ends first.
   */
  async call<T = unknown>(method: string, params: object, signal?: AbortSignal): Promise<T> {
    if (this.#isOver) throw gone();
    const id = ++this.#count;
    const waiting = Promise.withResolvers<unknown>();
    this.#waiting.set(id, waiting);
    const cancel = () => void this.notify("$/cancelRequest", { id });
    signal?.addEventListener("abort", cancel, { once: true });
    try {
      await this.#send({ jsonrpc: "2.0", id, method, params });
      return await waiting.promise as T;
    } finally {
      signal?.removeEventListener("abort", cancel);
      this.#waiting.delete(id);
    }
  }

  /** Sends a notification. */
  async notify(method: string, params: object): Promise<void> {
    await this.#send({ jsonrpc: "2.0", method, params });
  }

  async #send(message: object): Promise<void> {
    await this.#options.output.write(encodeFrame(JSON.stringify(message), "line"));
  }

  async #read(): Promise<void> {
    const decoder = new FrameDecoder(MAX_BYTES);
    try {
      for await (const chunk of this.#options.input) {
        for (const frame of decoder.push(chunk)) if (!(frame instanceof Error)) this.#take(frame);
      }
    } finally {
      this.#isOver = true;
      for (const { promise, reject } of this.#waiting.values()) {
        promise.catch(() => {});
        reject(gone());
      }
    }
  }

  #take(frame: Uint8Array): void {
    const text = new TextDecoder().decode(frame);
    const { id, method, params, result, error } = JSON.parse(text) as AnswerMessage;
    if (method !== undefined) return this.#options.onNotification?.(method, params);
    const waiting = this.#waiting.get(id ?? -1);
    if (error !== undefined) waiting?.reject(new AnswerError(error));
    else waiting?.resolve(result);
  }
}

function gone(): GoneError {
  return new GoneError("Cannot hear from the server: the connection has ended");
}
