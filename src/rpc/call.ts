/** One request or notification under way, as its method sees it. */
import type { Id, Invocation } from "./message.ts";

/** What a method may use beside its params. */
export interface RequestContext<Data> {
  /** What belongs to the connection. */
  readonly connection: Data;
  /** Aborted if the request is cancelled or the connection has ended; the reason is an error of ours. */
  readonly signal: AbortSignal;
  /** Sends a notification, ahead of the answer; resolves once there is room for more. */
  readonly notify: (method: string, params: object) => Promise<void>;
}

/** What a call needs of its connection. */
export type CallSite<Data> = Pick<RequestContext<Data>, "connection" | "notify">;

/** One request, or a notification, whose id is undefined. */
export class Call<Data> implements RequestContext<Data> {
  readonly id: Id | undefined;
  readonly method: string;
  readonly params: Invocation["params"];
  /** What it counts for, in bytes. */
  readonly weight: number;
  readonly connection: Data;
  readonly notify: CallSite<Data>["notify"];
  #reason: unknown;
  #hasEnded = false;
  // Made when asked for: most methods end before anyone could cancel them.
  #controller: AbortController | undefined;

  constructor(
    id: Id | undefined,
    invocation: Invocation,
    options: { readonly weight: number; readonly site: CallSite<Data> },
  ) {
    this.id = id;
    this.method = invocation.method;
    this.params = invocation.params;
    this.weight = options.weight;
    this.connection = options.site.connection;
    this.notify = options.site.notify;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** Why it was aborted; undefined if it was not. */
  get reason(): unknown {
    return this.#reason;
  }

  /** Tells the method to end; one that has is left alone. */
  abort(reason: unknown): void {
    if (this.#hasEnded || this.#reason !== undefined) return;
    this.#reason = reason;
    this.#controller?.abort(reason);
  }

  /** Notes that the method has ended. */
  end(): void {
    this.#hasEnded = true;
  }
}
