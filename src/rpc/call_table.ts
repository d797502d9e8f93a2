/** The calls of a connection that have not been answered. */
import { BusyError, CancelledError, RequestError } from "../errors.ts";
import type { Call } from "./call.ts";
import type { RpcLimits } from "./limit.ts";
import type { Id } from "./message.ts";

/** Holds each from when it is taken until its answer is in the queue. */
export class CallTable<Data> {
  readonly #limits: Pick<RpcLimits, "maxInFlight" | "maxInFlightBytes">;
  readonly #calls = new Set<Call<Data>>();
  readonly #byId = new Map<Id, Call<Data>>();
  #bytes = 0;
  /** Resolved when a call has ended. */
  #ended = Promise.withResolvers<void>();

  constructor(limits: Pick<RpcLimits, "maxInFlight" | "maxInFlightBytes">) {
    this.#limits = limits;
  }

  /** How many there are. */
  get size(): number {
    return this.#calls.size;
  }

  /** Whether no more are taken. */
  get isFull(): boolean {
    const { maxInFlight, maxInFlightBytes } = this.#limits;
    return this.#calls.size >= maxInFlight || this.#bytes >= maxInFlightBytes;
  }

  /** Gives what a request is answered with if it is not taken: its id is in use, or `isFull`. */
  refuse(id: Id, isFull: boolean): RequestError | BusyError | null {
    if (this.#byId.has(id)) {
      const name = JSON.stringify(id);
      return new RequestError(`Cannot take a request: the id ${name} is that of one under way`);
    }
    if (!isFull) return null;
    return new BusyError("Cannot take a request: too many of this connection are under way", {
      remedy: "Wait for answers before sending more.",
    });
  }

  /** Takes a call in. */
  add(call: Call<Data>): void {
    this.#calls.add(call);
    this.#bytes += call.weight;
    if (isName(call.id)) this.#byId.set(call.id, call);
  }

  /** Lets a call go: its id is free again. */
  remove(call: Call<Data>): void {
    if (!this.#calls.delete(call)) return;
    this.#bytes -= call.weight;
    if (isName(call.id)) this.#byId.delete(call.id);
    this.#ended.resolve();
    this.#ended = Promise.withResolvers();
  }

  /** Cancels a request; one that has ended, or never was, is no matter. */
  cancel(id: unknown): void {
    this.#byId.get(id as Id)?.abort(
      new CancelledError("Cannot go on with a request: it was cancelled"),
    );
  }

  /** Aborts all. */
  abortAll(reason: unknown): void {
    for (const call of this.#calls) call.abort(reason);
  }

  /** Waits until one has ended. */
  async oneEnded(): Promise<void> {
    await this.#ended.promise;
  }

  /** Waits until none is left. */
  async allEnded(): Promise<void> {
    while (this.#calls.size > 0) await this.#ended.promise;
  }
}

/** Requests whose id is null cannot be told apart, and so neither cancelled nor doubled. */
function isName(id: Id | undefined): id is string | number {
  return id !== undefined && id !== null;
}
