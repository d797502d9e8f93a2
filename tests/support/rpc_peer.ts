/** A peer of a JSON-RPC connection, in memory. */
import { Connection, type ConnectionOptions, type Dispatch } from "../../src/rpc/mod.ts";

/** An answer, or a notification, as it was received. */
export interface Received {
  readonly jsonrpc?: string;
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: {
    readonly code: number;
    readonly message: string;
    readonly data: Readonly<Record<string, unknown>>;
  };
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** What the peer sends, and what it has received. */
export class RpcPeer {
  /** All that was written to the peer, a write each. */
  readonly writes: string[] = [];
  /** Called at the start of each write. */
  onWrite = (): void => {};
  /** How many chunks the connection has asked for. */
  chunksAsked = 0;
  readonly #chunks: Uint8Array[] = [];
  readonly #lines: string[] = [];
  #partial = "";
  #hasEnded = false;
  #isGone = false;
  #sent = Promise.withResolvers<void>();
  #received = Promise.withResolvers<void>();
  #reading: Promise<void> = Promise.resolve();

  /** @param nextChunk Gives what the peer sends, if it is not what the methods below say. */
  constructor(nextChunk?: () => Promise<IteratorResult<Uint8Array>>) {
    const next = nextChunk ?? ((): Promise<IteratorResult<Uint8Array>> => this.#nextChunk());
    this.input = { [Symbol.asyncIterator]: () => ({ next }) };
  }

  /** Sends bytes, or a text, as one chunk. */
  sendBytes(chunk: Uint8Array | string): void {
    this.#chunks.push(typeof chunk === "string" ? encoder.encode(chunk) : chunk);
    this.#wakeSent();
  }

  /** Sends messages, a line each, in one chunk. */
  send(...messages: readonly unknown[]): void {
    this.sendBytes(messages.map((message) => JSON.stringify(message) + "\n").join(""));
  }

  /** Sends no more. */
  endInput(): void {
    this.#hasEnded = true;
    this.#wakeSent();
  }

  /** Reads nothing until the function that is returned is called. */
  stopReading(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#reading = promise;
    return resolve;
  }

  /** Reads nothing, ever: who writes is told. */
  leave(): void {
    this.#isGone = true;
  }

  /** Gives the next line that was received. */
  async nextLine(): Promise<string> {
    for (;;) {
      const line = this.#lines.shift();
      if (line !== undefined) return line;
      await this.#received.promise;
    }
  }

  /** Gives the next message that was received, which is no batch. */
  async next(): Promise<Received> {
    return JSON.parse(await this.nextLine());
  }

  /** Gives the next batch of answers. */
  async nextBatch(): Promise<Received[]> {
    return JSON.parse(await this.nextLine());
  }

  readonly input: AsyncIterable<Uint8Array>;

  readonly output: ConnectionOptions<unknown>["output"] = {
    write: async (bytes) => {
      this.onWrite();
      await this.#reading;
      if (this.#isGone) return false;
      const text = decoder.decode(bytes);
      this.writes.push(text);
      const lines = (this.#partial + text).split("\n");
      this.#partial = lines.pop() ?? "";
      this.#lines.push(...lines);
      this.#received.resolve();
      this.#received = Promise.withResolvers();
      return true;
    },
  };

  async #nextChunk(): Promise<IteratorResult<Uint8Array>> {
    this.chunksAsked++;
    for (;;) {
      const chunk = this.#chunks.shift();
      if (chunk !== undefined) return { done: false, value: chunk };
      if (this.#hasEnded) return { done: true, value: undefined };
      await this.#sent.promise;
    }
  }

  #wakeSent(): void {
    this.#sent.resolve();
    this.#sent = Promise.withResolvers();
  }
}

/** A peer with its connection. */
export interface RpcPair extends Disposable {
  readonly peer: RpcPeer;
  readonly connection: Connection<string>;
  /** What methods threw, not on purpose. */
  readonly bugs: unknown[];
}

/** Connects a peer; the connection ends when the pair is disposed of. */
export function connectPeer(
  dispatch: Dispatch<string>,
  limits: ConnectionOptions<string>["limits"] = {},
  peer = new RpcPeer(),
): RpcPair {
  const bugs: unknown[] = [];
  const connection = new Connection<string>({
    input: peer.input,
    output: peer.output,
    dispatch,
    data: "its data",
    limits,
    onBug: (error) => bugs.push(error),
  });
  return { peer, connection, bugs, [Symbol.dispose]: () => connection.end() };
}

/** A request. */
export function request(id: unknown, method: string, params?: unknown): Record<string, unknown> {
  return { jsonrpc: "2.0", id, method, ...(params === undefined ? {} : { params }) };
}

/** A notification. */
export function notification(method: string, params?: unknown): Record<string, unknown> {
  return { jsonrpc: "2.0", method, ...(params === undefined ? {} : { params }) };
}

/** Lets all happen that needs no more input. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setTimeout(resolve, 0));
}
