/** One connection: reads messages, has them run, and ends when its peer or its owner wants it. */
import { GoneError } from "../errors.ts";
import { CallTable } from "./call_table.ts";
import { encodeFrame, type Frame, FrameDecoder } from "./frame.ts";
import { DEFAULT_LIMITS, type RpcLimits } from "./limit.ts";
import { type Incoming, invalid, type Message, parseMessage } from "./message.ts";
import { Outbox, type Output } from "./outbox.ts";
import { type Dispatch, isCancel, Runner } from "./runner.ts";
import { Turn } from "./turn.ts";

/** What a connection is made of. */
export interface ConnectionOptions<Data> {
  /** What the peer sends; a chunk is ours until the next is asked for. Its owner closes it. */
  readonly input: AsyncIterable<Uint8Array>;
  readonly output: Output;
  readonly dispatch: Dispatch<Data>;
  /** What belongs to the connection; methods get it as `connection`. */
  readonly data: Data;
  readonly limits?: Partial<RpcLimits>;
  /** Is given what a method threw, not on purpose. */
  readonly onBug: (error: unknown) => void;
}

/** Why a connection is over; a peer that has gone may leave a cause. */
export type CloseReason =
  | { readonly kind: "inputEnded" | "drained" | "ended" }
  | { readonly kind: "peerGone"; readonly cause: unknown };

/** A connection, which reads from the moment it is made. */
export class Connection<Data> {
  readonly #limits: RpcLimits;
  readonly #decoder: FrameDecoder;
  readonly #outbox: Outbox;
  readonly #calls: CallTable<Data>;
  readonly #runner: Runner<Data>;
  readonly #closed = Promise.withResolvers<CloseReason>();
  readonly #turn = new Turn();
  #isReading = true;
  #stopWaiting = (): void => {};

  constructor(options: ConnectionOptions<Data>) {
    const limits = this.#limits = { ...DEFAULT_LIMITS, ...options.limits };
    this.#decoder = new FrameDecoder(limits.maxMessageBytes);
    this.#outbox = new Outbox(options.output, {
      maxBytes: limits.maxQueuedBytes,
      turn: this.#turn,
      onLost: (cause) => this.#end({ kind: "peerGone", cause }),
    });
    this.#calls = new CallTable(limits);
    this.#runner = new Runner({
      dispatch: options.dispatch,
      calls: this.#calls,
      outbox: this.#outbox,
      site: {
        connection: options.data,
        notify: (method, params) => this.notify(method, params),
      },
      limits,
      framing: () => this.#decoder.framing,
      onBug: options.onBug,
    });
    void this.#read(options.input);
  }

  /** Resolves when the connection is over: nothing is read or written after. Never rejects. */
  get closed(): Promise<CloseReason> {
    return this.#closed.promise;
  }

  /** How many requests have not been answered. */
  get inFlight(): number {
    return this.#calls.size;
  }

  /** How many bytes the peer has yet to read. */
  get queuedBytes(): number {
    return this.#outbox.queuedBytes;
  }

  /**
   * Sends a notification; resolves once the queue has taken it, at once if the connection is over.
   *
   * @throws {TypeError} If `params` are not JSON.
   */
  notify(method: string, params: object): Promise<void> {
    return this.#outbox.post(() => {
      const text = JSON.stringify({ jsonrpc: "2.0", method, params });
      return encodeFrame(text, this.#decoder.framing);
    });
  }

  /** Reads no more, lets requests end and writes what they answer; then the connection is over. */
  async drain(): Promise<CloseReason> {
    this.#stopReading();
    await Promise.race([this.#settled(), this.closed]);
    this.#end({ kind: "drained" });
    return await this.closed;
  }

  /** Ends the connection at once: requests are aborted, what is not written is dropped. */
  end(): void {
    this.#end({ kind: "ended" });
  }

  async #read(input: AsyncIterable<Uint8Array>): Promise<void> {
    try {
      const iterator = input[Symbol.asyncIterator]();
      for (;;) {
        const chunk = await this.#next(iterator);
        const frames = chunk === null ? this.#decoder.end() : this.#decoder.push(chunk);
        for (const frame of this.#isReading ? frames : []) {
          await this.#take(frame);
          if (!this.#isReading) break;
          await this.#turn.pass();
        }
        if (!this.#isReading || chunk === null) break;
        await this.#turn.pass();
      }
      if (this.#isReading) await this.#finish();
    } catch (cause) {
      this.#end({ kind: "peerGone", cause });
    }
  }

  /** Gives null at the end of the input, or when nothing more is to be read. */
  #next(iterator: AsyncIterator<Uint8Array>): Promise<Uint8Array | null> {
    return new Promise((resolve, reject) => {
      this.#stopWaiting = () => resolve(null);
      if (!this.#isReading) return resolve(null);
      iterator.next().then(({ done, value }) => resolve(done ? null : value), reject);
    });
  }

  async #take(frame: Frame): Promise<void> {
    const isFault = frame instanceof Error;
    const bytes = isFault ? 0 : frame.length;
    const incoming = isFault ? invalid(null, frame) : parseMessage(frame, this.#limits.maxBatch);
    // A notification cannot be told "busy".
    while (this.#calls.isFull && hasNotification(incoming)) await this.#calls.oneEnded();
    if (this.#isReading) this.#runner.take(incoming, bytes);
    await this.#outbox.room();
  }

  /** The peer sends no more, but may still read. */
  async #finish(): Promise<void> {
    await this.#within(this.#settled());
    this.#calls.abortAll(hasEnded());
    await this.#within(this.#settled());
    this.#end({ kind: "inputEnded" });
  }

  async #settled(): Promise<void> {
    await this.#calls.allEnded();
    await this.#outbox.flushed();
  }

  async #within(work: Promise<void>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, this.#limits.graceMs);
    await Promise.race([work, promise, this.closed]);
    clearTimeout(timer);
  }

  #stopReading(): void {
    this.#isReading = false;
    this.#stopWaiting();
  }

  #end(reason: CloseReason): void {
    this.#stopReading();
    this.#calls.abortAll(hasEnded());
    this.#outbox.close();
    this.#turn[Symbol.dispose]();
    this.#closed.resolve(reason);
  }
}

function hasEnded(): GoneError {
  return new GoneError("Cannot go on with a request: its connection has ended");
}

function hasNotification(incoming: Incoming): boolean {
  const waits = (message: Message): boolean =>
    message.kind === "notification" && !isCancel(message);
  return incoming.kind === "batch" ? incoming.messages.some(waits) : waits(incoming);
}
