/** A server and the connections to it. */
import { closestString } from "@std/text/closest-string";
import { MethodError } from "../../errors.ts";
import { Connection, type RpcLimits } from "../../rpc/mod.ts";
import type { Caller } from "./call.ts";
import { METHODS } from "./method/mod.ts";
import type { Server } from "./server.ts";

/** The two directions of a connection, and its end. */
export interface Peer {
  readonly input: AsyncIterable<Uint8Array>;
  readonly output: { write(bytes: Uint8Array<ArrayBuffer>): Promise<boolean> };
  /** Resolves with true when it neither writes nor reads any more. */
  readonly gone: Promise<boolean>;
}

/** Hears what is worth telling an operator. */
export interface ServeEvents {
  /** A fault of ours that a caller has met. */
  readonly onBug: (error: unknown) => void;
  readonly onOpen?: (connection: number) => void;
  readonly onClose?: (connection: number, reason: string) => void;
}

/** Serves peers. */
export class Front {
  readonly #server: Server;
  readonly #events: ServeEvents;
  readonly #limits: Partial<RpcLimits>;
  readonly #open = new Set<Connection<null>>();
  #count = 0;

  /** @param graceMs How long calls may go on when a peer sends no more. */
  constructor(server: Server, graceMs: number, events: ServeEvents) {
    this.#server = server;
    this.#limits = { graceMs };
    this.#events = events;
  }

  /** How many peers there are. */
  get size(): number {
    return this.#open.size;
  }

  /** Serves a peer until it is gone; what it made, and is not detached, is ended then. */
  async serve({ input, output, gone }: Peer): Promise<void> {
    const number = ++this.#count;
    this.#events.onOpen?.(number);
    const left = new AbortController();
    const caller: Caller = {
      gone: left.signal,
      notify: (method, params) => connection.notify(method, params as object),
    };
    const connection = new Connection<null>({
      input,
      output,
      data: null,
      limits: this.#limits,
      onBug: this.#events.onBug,
      dispatch: (name, params, { signal }) => {
        const method = Object.hasOwn(METHODS, name) ? METHODS[name] : undefined;
        if (method === undefined) throw noMethod(name);
        return method.call(params, { server: this.#server, call: { caller, signal } });
      },
    });
    this.#open.add(connection);
    void gone.then((isGone) => isGone && connection.end());
    const { kind } = await connection.closed;
    this.#open.delete(connection);
    left.abort();
    await this.#server.leave(caller);
    this.#events.onClose?.(number, kind);
  }

  /** Takes no more requests, answers those that run, and lets every peer go. */
  async drain(): Promise<void> {
    await Promise.all([...this.#open].map((connection) => connection.drain()));
  }
}

function noMethod(name: string): MethodError {
  const known = Object.keys(METHODS);
  return new MethodError(`Cannot call ${JSON.stringify(name)}: there is no such method`, {
    remedy: `Did you mean ${closestString(name, known)}? See serve --schema.`,
  });
}
