/** What waits to be written to a peer: bounded, in order, many small messages in one write. */
import type { Turn } from "./turn.ts";

/** Where bytes go. */
export interface Output {
  /** Writes all bytes; false if the peer has gone. */
  write(bytes: Uint8Array<ArrayBuffer>): Promise<boolean>;
}

/** Gives the bytes of a message, once there is room for them; null if there are none after all. */
export type Make = () => Uint8Array<ArrayBuffer> | null;

interface Waiting {
  readonly make: Make;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** How an outbox is made. */
export interface OutboxOptions {
  /** While so much waits, no more is taken. */
  readonly maxBytes: number;
  readonly turn: Turn;
  /** Called once, if a write finds the peer gone. */
  readonly onLost: (cause: unknown) => void;
}

/** Messages smaller than this are written together. */
const WRITE_BYTES = 64 * 1024;

/** The queue of one peer. */
export class Outbox {
  readonly #output: Output;
  readonly #options: OutboxOptions;
  #queue: Uint8Array<ArrayBuffer>[] = [];
  #waiting: Waiting[] = [];
  #queuedBytes = 0;
  #isWriting = false;
  #isClosed = false;
  #flushed = Promise.withResolvers<void>();

  constructor(output: Output, options: OutboxOptions) {
    this.#output = output;
    this.#options = options;
  }

  /** The bytes that wait, and those that are being written. */
  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  /**
   * Puts a message at the end of the queue. Its bytes are made when there is room: what does not
   * fit stays with its caller, who waits. After the end this does nothing.
   *
   * @throws What `make` throws.
   */
  post(make: Make): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.push({ make, resolve, reject });
    this.#admit();
    return promise;
  }

  /** Waits until the queue has room. */
  async room(): Promise<void> {
    if (this.#waiting.length > 0 || !this.#hasRoom()) await this.post(() => null);
  }

  /** Waits until all that was posted has been written, or the outbox is closed. */
  async flushed(): Promise<void> {
    if (this.#isIdle()) return;
    await this.#flushed.promise;
  }

  /** Drops what waits; nobody waits for it any more. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const { resolve } of this.#waiting) resolve();
    this.#waiting = [];
    this.#queue = [];
    this.#queuedBytes = 0;
    this.#flushed.resolve();
  }

  #admit(): void {
    let count = 0;
    for (const { make, resolve, reject } of this.#waiting) {
      if (!this.#hasRoom()) break;
      count++;
      try {
        const bytes = make();
        if (bytes !== null) this.#push(bytes);
        resolve();
      } catch (error) {
        reject(error);
      }
    }
    this.#waiting.splice(0, count);
  }

  #push(bytes: Uint8Array<ArrayBuffer>): void {
    this.#queue.push(bytes);
    this.#queuedBytes += bytes.length;
    if (!this.#isWriting) void this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true;
    while (this.#queue.length > 0) {
      const bytes = takeSome(this.#queue);
      if (!await this.#write(bytes)) return;
      this.#queuedBytes -= bytes.length;
      this.#admit();
      await this.#options.turn.pass(); // a peer that always reads is no reason to let others wait
    }
    this.#isWriting = false;
    if (!this.#isIdle()) return;
    this.#flushed.resolve();
    if (!this.#isClosed) this.#flushed = Promise.withResolvers();
  }

  async #write(bytes: Uint8Array<ArrayBuffer>): Promise<boolean> {
    let cause: unknown;
    try {
      if (await this.#output.write(bytes)) return !this.#isClosed;
    } catch (error) {
      cause = error;
    }
    if (!this.#isClosed) this.#options.onLost(cause);
    this.close();
    return false;
  }

  #hasRoom(): boolean {
    return this.#queuedBytes < this.#options.maxBytes;
  }

  #isIdle(): boolean {
    return this.#isClosed || (this.#queuedBytes === 0 && this.#waiting.length === 0);
  }
}

/** Takes messages from the front of a queue, and joins those that are small. */
function takeSome(queue: Uint8Array<ArrayBuffer>[]): Uint8Array<ArrayBuffer> {
  let length = 0;
  let count = 0;
  for (const bytes of queue) {
    if (count > 0 && length + bytes.length > WRITE_BYTES) break;
    length += bytes.length;
    count++;
  }
  const [first, ...others] = queue.splice(0, count);
  if (first === undefined || others.length === 0) return first ?? new Uint8Array();
  const joined = new Uint8Array(length);
  let at = 0;
  for (const bytes of [first, ...others]) {
    joined.set(bytes, at);
    at += bytes.length;
  }
  return joined;
}
