/** A server's sandboxes: made, found, listed and ended, whoever asks. */
import { BusyError, GoneError, NotFoundError } from "../../errors.ts";
import { Copier } from "../copier.ts";
import { freezeUpper, type Frozen, openForkPlace } from "../frozen.ts";
import type { Node } from "../node.ts";
import { expectCrowd } from "../../sandbox/mod.ts";
import { Phases } from "../outcome.ts";
import { openPlace } from "../prepare.ts";
import { checkSpec, type SandboxSpec } from "../spec.ts";
import type { Call, Caller } from "./call.ts";
import { shareable, type SharedPrepared } from "./shareable.ts";
import { FairGate } from "./gate.ts";
import {
  type CloseReason,
  goneError,
  type LiveOptions,
  LiveSandbox,
  type Parts,
} from "./live_sandbox.ts";
import { type Counts, Metrics } from "./metrics.ts";
import { Turns } from "./turn.ts";
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

/** How sandboxes are made that begin with what another has written. */
export interface ForkOptions extends Omit<CreateOptions, "onLayer"> {
  readonly count: number;
  readonly stops: boolean;
}

/** A sandbox that is being made. */
interface Making {
  readonly spec: SandboxSpec;
  readonly options: CreateOptions;
  readonly call: Call;
}

/** What a sandbox is made of. */
type Source = Pick<LiveSandbox["parts"], "prepared" | "place" | "frozen">;

/** Finds what a sandbox is made of; `hold` lets it go if it is not made after all. */
type FindSource = (
  hold: (prepared: SharedPrepared) => SharedPrepared,
  watch: { readonly phases: Phases; readonly signal: AbortSignal },
) => Promise<Source>;

/** Each takes about 50 MB of memory. */
const TRANSFERS = 4;

/** How many that have ended are remembered, to say why. */
const REMEMBERED = 4096;

/** Live sandboxes, and what they are made with. */
export class Server implements AsyncDisposable {
  readonly node: Node;
  readonly options: ServerOptions;
  readonly metrics: Metrics;
  readonly started = new Date();
  /** Trees are moved by a process each: so many at once. */
  readonly transfers = new FairGate({ width: TRANSFERS, queue: 4096 });
  readonly #shared: SharedPreparations;
  readonly #gate: FairGate;
  /** Hears of what nobody else hears of. */
  onFault: (error: unknown) => void = () => {};
  readonly #refill: Refill;
  readonly #turns = new Turns();
  readonly #copier: Copier;
  /** Distinguishes ids from those of other servers. */
  readonly #tag = crypto.getRandomValues(new Uint8Array(4)).toHex();
  readonly #live = new Map<string, LiveSandbox>();
  readonly #byKey = new Map<string, Promise<LiveSandbox>>();
  readonly #ended = new Map<string, CloseReason>();
  readonly #over = Promise.withResolvers<void>();
  #starting = 0;
  /** What is being made by the engine: nothing stops that half-way. */
  readonly #births = new Set<Promise<LiveSandbox>>();
  #count = 0;
  #isDraining = false;

  constructor(node: Node, options: Partial<ServerOptions> = {}) {
    this.node = node;
    this.options = { ...DEFAULT_SERVER_OPTIONS, ...options };
    this.metrics = new Metrics(this);
    const { kind } = node.host.identity;
    this.#copier = new Copier(node.worker, kind === "root" || kind === "none");
    this.#shared = new SharedPreparations(node);
    this.#gate = new FairGate({ width: this.options.startJobs, queue: this.options.queue });
    node.engine.crew.pause = () => this.#turns.next();
    expectCrowd(); // once its engine has raised the limit
    this.#refill = new Refill(node, () => this.#starting === 0);
  }

  /** How many there are. */
  get counts(): Counts {
    const { ready, wanted } = this.#refill;
    return {
      ...{ live: this.#live.size, starting: this.#starting, queued: this.#gate.waiting },
      ...{ ready, readyWanted: wanted },
    };
  }

  /** The life that a caller may have of the one he asks for; null for any. */
  mostLife(ttlMs: number | null = null): number | null {
    return lesser(ttlMs, this.options.ttlMs);
  }

  /** The same of the time for which nothing is asked. */
  mostIdle(idleMs: number | null = null): number | null {
    return lesser(idleMs, this.options.idleMs);
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
    const made = this.#make({ spec, options, call }, async (hold, { phases, signal }) => {
      const { onLayer } = options;
      const shared = await this.#shared.acquire(
        spec,
        onLayer === undefined ? { signal } : { signal, onLayer },
      );
      const prepared = hold(shareable(shared));
      phases.end("prepare");
      return { prepared, place: await openPlace(this.node, spec, prepared), frozen: [] };
    });
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
   * Makes sandboxes that begin with what another has written; all share one copy of that.
   *
   * @param stops Whether programs that run may be stopped while it is made.
   * @throws {BusyError} If there are as many as may be.
   * @throws {MinisandboxError} If one cannot be made: none is, then.
   */
  async fork(
    original: LiveSandbox,
    { count, stops, ...options }: ForkOptions,
    call: Call,
  ): Promise<LiveSandbox[]> {
    this.#mustHaveRoom(count);
    await using top = await this.freeze(original, stops);
    const { prepared, place, spec, frozen } = original.parts;
    const all = [...frozen, top];
    const making = Array.from(
      { length: count },
      () =>
        this.#make({ spec, options, call }, async (hold, { phases }) => {
          const shared = hold(prepared.share());
          phases.end("prepare");
          const { layout } = place;
          const made = await openForkPlace(this.node, { layout, spec, user: prepared.user }, all);
          return { prepared: shared, place: made, frozen: all };
        }),
    );
    const made = await Promise.allSettled(making);
    const failure = made.find(({ status }) => status === "rejected");
    const sandboxes = made.flatMap((it) => it.status === "fulfilled" ? [it.value] : []);
    if (failure === undefined) return sandboxes;
    await Promise.all(sandboxes.map((sandbox) => sandbox.close("closed")));
    throw (failure as PromiseRejectedResult).reason;
  }

  /** Copies what a sandbox has written; whoever asks lets the copy go. */
  async freeze({ parts }: LiveSandbox, stops: boolean): Promise<Frozen> {
    const { sandbox, place, spec } = parts;
    const original = { sandbox, layout: place.layout, spec };
    return await freezeUpper(this.node, this.#copier, original, stops);
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

  /**
   * Gives the sandbox of a key, once it is made; one that is ending is waited for, and is none.
   *
   * @throws {MinisandboxError} If it cannot be made.
   */
  async findKey(key: string): Promise<LiveSandbox | null> {
    for (;;) {
      const sandbox = await this.#byKey.get(key);
      if (sandbox === undefined) return null;
      if (sandbox.reason === null) return sandbox;
      await sandbox.ended;
    }
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

  /** Resolves once all is done that is done while nothing is asked. */
  get idle(): Promise<void> {
    return this.#refill.full;
  }

  /** Ends every sandbox, and lets whoever serves know that it is over. */
  async shutDown(): Promise<void> {
    await this[Symbol.asyncDispose]();
    this.#over.resolve();
  }

  /** Ends every sandbox. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.drain();
    await this.#refill[Symbol.asyncDispose]();
    await Promise.allSettled([...this.#births]);
    await Promise.all(this.list().map((sandbox) => sandbox.close("shutdown")));
    await this.node.places.empty();
    await this.#copier[Symbol.asyncDispose]();
    this.#shared[Symbol.dispose]();
    this.node.engine.crew.pause = () => Promise.resolve();
    this.#turns[Symbol.dispose]();
  }

  async #make({ spec, options, call }: Making, find: FindSource): Promise<LiveSandbox> {
    this.#mustHaveRoom();
    checkSpec(spec);
    this.#starting++;
    let made = 0;
    try {
      const signal = options.startTimeoutMs === null
        ? call.signal
        : AbortSignal.any([call.signal, AbortSignal.timeout(options.startTimeoutMs)]);
      const phases = new Phases();
      using _turn = await this.#gate.enter(call.caller, signal);
      phases.end("queue");
      const sandbox = await this.#build({ spec, options, find }, { phases, signal });
      this.metrics.noteStart(sandbox.parts.phases);
      made = 1;
      return sandbox;
    } catch (error) {
      this.metrics.noteFailure(error);
      throw startError(error, options.startTimeoutMs);
    } finally {
      this.#starting--;
      this.#refill.wake(made);
    }
  }

  async #build(
    { spec, options, find }: Omit<Making, "call"> & { readonly find: FindSource },
    { phases, signal }: { readonly phases: Phases; readonly signal: AbortSignal },
  ): Promise<LiveSandbox> {
    await using held = new AsyncDisposableStack();
    const hold = (prepared: SharedPrepared) => held.use(prepared);
    const { prepared, place, frozen } = await find(hold, { phases, signal });
    held.use(place);
    signal.throwIfAborted();
    phases.end("upper");
    if (this.#isDraining) throw ending();
    const made = this.node.engine.create(place.layout, prepared.user, place);
    const born = made.then((sandbox) => {
      phases.end("create");
      held.move();
      return this.#welcome({ sandbox, prepared, place, frozen, spec, phases }, options);
    });
    this.#births.add(born);
    try {
      const live = await born;
      // Whoever wanted it may have gone meanwhile.
      if (signal.aborted) await live.close("callerGone");
      signal.throwIfAborted();
      return live;
    } finally {
      this.#births.delete(born);
    }
  }

  #welcome(parts: Parts, options: LiveOptions): LiveSandbox {
    const live = new LiveSandbox(this.nextId("sb"), parts, options);
    this.#live.set(live.id, live);
    live.ended.then((reason) => {
      this.#forget(live.id, reason);
      if (live.failure !== null) this.onFault(live.failure);
    });
    return live;
  }

  #forget(id: string, reason: CloseReason): void {
    this.#live.delete(id);
    this.#ended.set(id, reason);
    this.metrics.noteEnd(reason);
    const [oldest] = this.#ended.keys();
    if (this.#ended.size > REMEMBERED) this.#ended.delete(oldest!);
  }

  #mustHaveRoom(count = 1): void {
    if (this.#isDraining) throw ending();
    const { maxSandboxes } = this.options;
    if (this.#live.size + this.#starting + count <= maxSandboxes) return;
    throw new BusyError(`Cannot make a sandbox: ${maxSandboxes} are there already`, {
      remedy: "Close one, or give serve a larger --max-sandboxes.",
    });
  }
}

function ending(): GoneError {
  return new GoneError("Cannot make a sandbox: the server is ending");
}

function startError(error: unknown, timeoutMs: number | null): unknown {
  if (!(error instanceof DOMException) || error.name !== "TimeoutError") return error;
  return new BusyError(`Cannot make a sandbox: it was not ready in ${timeoutMs} ms`, {
    cause: error,
    remedy: "Give it more time by startTimeoutMs; a first use of an archive unpacks it.",
  });
}

function lesser(wanted: number | null, most: number | null): number | null {
  return wanted === null || most === null ? wanted ?? most : Math.min(wanted, most);
}
