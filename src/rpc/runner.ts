/** Runs what was asked for, and posts the answers. */
import { type Answer, toText } from "./answer.ts";
import { Call, type CallSite, type RequestContext } from "./call.ts";
import type { CallTable } from "./call_table.ts";
import { toRpcError } from "./error.ts";
import { encodeFrame, type Framing } from "./frame.ts";
import type { RpcLimits } from "./limit.ts";
import type { Incoming, Message, Params } from "./message.ts";
import type { Outbox } from "./outbox.ts";

/**
 * Carries out a method: what it returns is the result, what it throws the error. It is called in the
 * order in which requests come, without waiting for those before.
 */
export type Dispatch<Data> = (
  method: string,
  params: Params | undefined,
  context: RequestContext<Data>,
) => unknown;

/** What a runner works with. */
export interface RunnerParts<Data> {
  readonly dispatch: Dispatch<Data>;
  readonly calls: CallTable<Data>;
  readonly outbox: Outbox;
  readonly site: CallSite<Data>;
  readonly limits: Pick<RpcLimits, "maxBatchRunning">;
  /** Tells how the peer wants its answers. */
  readonly framing: () => Framing;
  readonly onBug: (error: unknown) => void;
}

const CANCEL = "$/cancelRequest";

/** Runs the messages of one connection. */
export class Runner<Data> {
  readonly #parts: RunnerParts<Data>;

  constructor(parts: RunnerParts<Data>) {
    this.#parts = parts;
  }

  /** Starts what a frame asks for. */
  take(incoming: Incoming, bytes: number): void {
    if (incoming.kind === "batch") {
      void this.#runBatch(incoming.messages, bytes);
      return;
    }
    const admitted = this.#admit(incoming, { isFull: this.#parts.calls.isFull, weight: bytes });
    if (admitted instanceof Call) void this.#runOne(admitted);
    else if (admitted !== null) void this.#parts.outbox.post(() => this.#frame(admitted));
  }

  /** Gives a call to run, or the answer, or null if there is nothing to do. */
  #admit(
    message: Message,
    { isFull, weight }: { readonly isFull: boolean; readonly weight: number },
  ): Call<Data> | Answer | null {
    if (message.kind === "response") return null;
    const id = message.kind === "notification" ? undefined : message.id;
    if (message.kind === "invalid") return this.#failure(message.id, message.error);
    if (isCancel(message)) {
      const { params = {} } = message;
      this.#parts.calls.cancel("id" in params ? params.id : undefined);
      return id === undefined ? null : { id, result: null };
    }
    const refusal = id === undefined ? null : this.#parts.calls.refuse(id, isFull);
    if (refusal !== null) return this.#failure(id ?? null, refusal);
    const call = new Call(id, message, { weight, site: this.#parts.site });
    this.#parts.calls.add(call);
    return call;
  }

  async #runOne(call: Call<Data>): Promise<void> {
    const { calls, outbox } = this.#parts;
    const answer = await this.#run(call);
    if (answer !== null) await outbox.post(() => this.#frame(answer));
    calls.remove(call);
  }

  async #runBatch(messages: readonly Message[], bytes: number): Promise<void> {
    const { calls, outbox, limits } = this.#parts;
    const bounds = { isFull: calls.isFull, weight: bytes / messages.length };
    const texts: string[] = [];
    const note = (answer: Answer | null): void => {
      if (answer !== null) texts.push(this.#text(answer));
    };
    const own: Call<Data>[] = [];
    for (const message of messages) {
      const admitted = this.#admit(message, bounds);
      if (admitted instanceof Call) own.push(admitted);
      else note(admitted);
    }
    const run = async (call: Call<Data>): Promise<void> => note(await this.#run(call));
    if (own.length > 0) await runBounded(own, { atOnce: limits.maxBatchRunning, run });
    if (texts.length > 0) await outbox.post(() => this.#frameBatch(texts));
    for (const call of own) calls.remove(call);
  }

  async #run(call: Call<Data>): Promise<Answer | null> {
    const { id, method, params } = call;
    try {
      if (call.reason !== undefined) throw call.reason;
      const result = await this.#parts.dispatch(method, params, call);
      return id === undefined ? null : { id, result };
    } catch (error) {
      const failure = this.#failure(id ?? null, isAbort(error) ? call.reason ?? error : error);
      return id === undefined ? null : failure;
    } finally {
      call.end();
    }
  }

  #failure(id: Answer["id"], error: unknown): Answer {
    return { id, error: toRpcError(error, this.#parts.onBug) };
  }

  #text(answer: Answer): string {
    try {
      return toText(answer);
    } catch (error) {
      return toText(this.#failure(answer.id, error));
    }
  }

  #frame(answer: Answer): Uint8Array<ArrayBuffer> {
    return encodeFrame(this.#text(answer), this.#parts.framing());
  }

  #frameBatch(texts: readonly string[]): Uint8Array<ArrayBuffer> {
    try {
      return encodeFrame(`[${texts.join(",")}]`, this.#parts.framing());
    } catch (error) {
      return this.#frame(this.#failure(null, error)); // longer than a string can be
    }
  }
}

/** Whether something is a call for cancellation, which is heard however much is under way. */
export function isCancel(message: Message): boolean {
  return "method" in message && message.method === CANCEL;
}

/** What Deno's own calls throw when their signal is aborted without an error of ours. */
function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

/** Starts the first at once, each of the others when one has ended. */
async function runBounded<T>(
  items: readonly T[],
  { atOnce, run }: { readonly atOnce: number; readonly run: (item: T) => Promise<void> },
): Promise<void> {
  const rest = items.values();
  const work = async (): Promise<void> => {
    for (const item of rest) await run(item);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, work));
}
