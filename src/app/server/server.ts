/** A server's sandboxes: made, found, listed and ended, whoever asks. */
import { BusyError, GoneError, NotFoundError } from "../../errors.ts";
import type { Node } from "../node.ts";
import { Phases } from "../outcome.ts";
import { openPlace } from "../prepare.ts";
import { checkSpec, type SandboxSpec } from "../spec.ts";
import type { Call, Caller } from "./call.ts";
import { FairGate } from "./gate.ts";
import { type CloseReason, goneError, type LiveOptions, LiveSandbox } from "./live_sandbox.ts";
import { Metrics } from "./metrics.ts";
import { Refill } from "./refill.ts";
import { type OnLayer, SharedPreparations } from "./shared.ts";

/** What its operator decides. */
export interface ServerOptions {
  readonly maxSandboxes: number;
  /** How many sandboxes are being made at once. */
  readonly startJobs: number;
  /** How many wait to be made. */
  readonly queue: number;
  /** The longest life and idleness that a caller may ask for; null for any. */
  readonly ttlMs: number | null;
  readonly idleMs: number | null;
}

/** What is not said. */
export const DEFAULT_SERVER_OPTIONS: ServerOptions = {
  maxSandboxes: 1024,
  startJobs: 8,
  queue: 4096,
  ttlMs: null,
  idleMs: null,
};

/** How a sandbox is made. */
export interface CreateOptions extends LiveOptions {
  /** How long it may take; null for any time. */
  readonly startTimeoutMs: number | null;
  readonly onLayer?: OnLayer;
}

/** How many that have ended are remembered, to say why. */
const REMEMBERED = 4096;

/** Live sandboxes, and what they are made with. */
export class Server implements AsyncDisposable {
  readonly node: Node;
  readonly options: ServerOptions;
  readonly metrics: Metrics;
  readonly started = new Date();
  readonly #shared: SharedPreparations;
  readonly #gate: FairGate;
  readonly #refill: Refill;
  /** Distinguishes ids from those of other servers. */
  readonly #tag = crypto.getRandomValues(new Uint8Array(4)).toHex();
  readonly #live = new Map<string, LiveSandbox>();
  readonly #byKey = new Map<string, Promise<LiveSandbox>>();
  readonly #ended = new Map<string, CloseReason>();
  readonly #over = Promise.withResolvers<void>();
  #starting = 0;
  #count = 0;
  #isDraining = false;

  constructor(node: Node, options: Partial<ServerOptions> = {}) {
    this.node = node;
    this.options = { ...DEFAULT_SERVER_OPTIONS, ...options };
    this.metrics = new Metrics(this);
    this.#shared = new SharedPreparations(node);
    this.#gate = new FairGate({ width: this.options.startJobs, queue: this.options.queue });
    this.#refill = new Refill(node, () => this.#starting === 0);
  }

  /** How many sandboxes live, are being made, and wait to be made. */
  get counts(): { readonly live: number; readonly starting: number; readonly queued: number } {
    return { live: this.#live.size, starting: this.#starting, queued: this.#gate.waiting };
  }

  /** Gives an id that no other thing has. */
  nextId(kind: string): string {
    return `${kind}-${this.#tag}-${++this.#count}`;
  }

  /**
   * Makes a sandbox; with the key of one that lives, or is being made, gives that.
   *
   * @throws {BusyError} If there are as many as may be.
   * @throws {MinisandboxError} If it cannot be made.
   */
  async create(
    spec: SandboxSpec,
    options: CreateOptions,
    call: Call,
  ): Promise<{ readonly sandbox: LiveSandbox; readonly isNew: boolean }> {
    const { key } = options;
    const known = key === null ? undefined : this.#byKey.get(key);
    if (known !== undefined) return { sandbox: await known, isNew: false };
    const made = this.#make(spec, options, call);
    if (key !== null) {
      this.#byKey.set(key, made);
      const forget = () => {
        if (this.#byKey.get(key) === made) this.#byKey.delete(key);
      };
      made.then((sandbox) => sandbox.ended.then(forget), forget);
    }
    return { sandbox: await made, isNew: true };
  }

  /**
   * Finds a sandbox that lives.
   *
   * @throws {GoneError} If it has ended.
   * @throws {NotFoundError} If there never was one.
   */
  find(id: string): LiveSandbox {
    const sandbox = this.#live.get(id);
    if (sandbox !== undefined) {
      sandbox.mustLive();
      return sandbox;
    }
    const reason = this.#ended.get(id);
    if (reason !== undefined) throw goneError(id, reason);
    throw new NotFoundError(`Cannot use sandbox "${id}": there is none of this id`, {
      remedy: "See sandbox.list.",
    });
  }

  /** Finds a sandbox whether or not it lives; null if it does not. */
  peek(id: string): LiveSandbox | null {
    return this.#live.get(id) ?? null;
  }

  /** Lists the sandboxes, the oldest first. */
  list(): LiveSandbox[] {
    return [...this.#live.values()];
  }

  /** Ends what a caller made, unless it is detached. */
  async leave(caller: Caller): Promise<void> {
    const own = this.list().filter(({ options }) => options.owner === caller);
    await Promise.all(own.map((sandbox) => sandbox.close("callerGone")));
  }

  /** Makes no more sandboxes. */
  drain(): void {
    this.#isDraining = true;
  }

  /** Resolves when a caller wants the server to end. */
  get over(): Promise<void> {
    return this.#over.promise;
  }

  /** Ends every sandbox, and lets whoever serves know that it is over. */
  async shutDown(): Promise<void> {
    await this[Symbol.asyncDispose]();
    this.#over.resolve();
  }

  /** Ends every sandbox. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.drain();
    this.#refill[Symbol.dispose]();
    await Promise.all(this.list().map((sandbox) => sandbox.close("shutdown")));
    this.#shared[Symbol.dispose]();
  }

  async #make(spec: SandboxSpec, options: CreateOptions, call: Call): Promise<LiveSandbox> {
    this.#mustHaveRoom();
    checkSpec(spec);
    this.#starting++;
    try {
      const signal = options.startTimeoutMs === null
        ? call.signal
        : AbortSignal.any([call.signal, AbortSignal.timeout(options.startTimeoutMs)]);
      const phases = new Phases();
      using _turn = await this.#gate.enter(call.caller, signal);
      phases.end("queue");
      const sandbox = await this.#build(spec, options, { phases, signal });
      this.metrics.noteStart(sandbox.parts.phases);
      return sandbox;
    } catch (error) {
      this.metrics.noteFailure(error);
      throw startError(error, options.startTimeoutMs);
    } finally {
      this.#starting--;
      this.#refill.wake();
    }
  }

  async #build(
    spec: SandboxSpec,
    options: CreateOptions,
    { phases, signal }: { readonly phases: Phases; readonly signal: AbortSignal },
  ): Promise<LiveSandbox> {
    const { engine } = this.node;
    const { onLayer } = options;
    await using held = new AsyncDisposableStack();
    const prepared = held.use(
      await this.#shared.acquire(spec, onLayer === undefined ? { signal } : { signal, onLayer }),
    );
    phases.end("prepare");
    const place = held.use(await openPlace(this.node, spec, prepared));
    signal.throwIfAborted();
    phases.end("upper");
    const sandbox = engine.create(place.layout, prepared.user, place.lockFd);
    phases.end("create");
    held.move();
    const parts = { sandbox, prepared, place, spec, phases };
    const live = new LiveSandbox(this.nextId("sb"), parts, options);
    this.#live.set(live.id, live);
    live.ended.then((reason) => this.#forget(live.id, reason));
    return live;
  }

  #forget(id: string, reason: CloseReason): void {
    this.#live.delete(id);
    this.#ended.set(id, reason);
    this.metrics.noteEnd(reason);
    const [oldest] = this.#ended.keys();
    if (this.#ended.size > REMEMBERED) this.#ended.delete(oldest!);
  }

  #mustHaveRoom(): void {
    if (this.#isDraining) throw new GoneError("Cannot make a sandbox: the server is ending");
    const { maxSandboxes } = this.options;
    if (this.#live.size + this.#starting < maxSandboxes) return;
    throw new BusyError(`Cannot make a sandbox: ${maxSandboxes} are there already`, {
      remedy: "Close one, or give serve a larger --max-sandboxes.",
    });
  }
}

function startError(error: unknown, timeoutMs: number | null): unknown {
  if (!(error instanceof DOMException) || error.name !== "TimeoutError") return error;
  return new BusyError(`Cannot make a sandbox: it was not ready in ${timeoutMs} ms`, {
    cause: error,
    remedy: "Give it more time by startTimeoutMs; a first use of an archive unpacks it.",
  });
}
