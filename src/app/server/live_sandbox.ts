/** One sandbox of a server: its programs, how long it may live, and its end. */
import { GoneError } from "../../errors.ts";
import type { Sandbox } from "../../sandbox/mod.ts";
import type { Shell } from "../../session/mod.ts";
import type { Phases } from "../outcome.ts";
import type { Frozen } from "../frozen.ts";
import type { Place } from "../prepare.ts";
import type { SandboxSpec } from "../spec.ts";
import type { Caller } from "./call.ts";
import type { SharedPrepared } from "./shareable.ts";
import type { StartedProcess } from "./started_process.ts";

/** Why a sandbox ended. */
export type CloseReason = "closed" | "callerGone" | "lifetime" | "idle" | "died" | "shutdown";

/** What a caller decides of a sandbox beside its spec. */
export interface LiveOptions {
  /** By it a repeated call finds the same sandbox. */
  readonly key: string | null;
  readonly labels: Readonly<Record<string, string>>;
  /** Who made it; null if it outlives that. */
  readonly owner: Caller | null;
  /** How long it may live. */
  readonly ttlMs: number | null;
  /** How long nothing may be asked of it. */
  readonly idleMs: number | null;
}

/** What it is made of. */
export interface Parts {
  readonly sandbox: Sandbox;
  readonly prepared: SharedPrepared;
  readonly place: Place;
  /** What other sandboxes had written when it was forked off, the topmost last; its place holds it. */
  readonly frozen: readonly Frozen[];
  readonly spec: SandboxSpec;
  readonly phases: Phases;
}

/** A sandbox that lives. */
export class LiveSandbox {
  readonly id: string;
  readonly options: LiveOptions;
  readonly parts: Parts;
  readonly created = new Date();
  /** Its programs that were started and not forgotten, by their ids. */
  readonly processes = new Map<string, StartedProcess>();
  /** Its sessions by their names; one that has ended stays until it is closed or made anew. */
  readonly sessions = new Map<string, Shell>();
  /** The names of sessions that are being opened. */
  readonly opening = new Set<string>();
  /** Resolves when nothing of it is left, with why. */
  readonly ended: Promise<CloseReason>;
  readonly #onEnd: (reason: CloseReason) => void;
  readonly #inUse = new AbortController();
  readonly #lifetime: number | undefined;
  #idle: number | undefined;
  #calls = 0;
  #count = 0;
  #reason: CloseReason | null = null;
  #failure: unknown = null;

  constructor(id: string, parts: Parts, options: LiveOptions) {
    this.id = id;
    this.parts = parts;
    this.options = options;
    const { promise, resolve } = Promise.withResolvers<CloseReason>();
    this.ended = promise;
    this.#onEnd = resolve;
    const { ttlMs } = options;
    if (ttlMs !== null) this.#lifetime = setTimeout(() => this.close("lifetime"), ttlMs);
    this.#armIdle();
    parts.sandbox.ended.then(() => this.close("died"));
  }

  /** Gives an id that no other thing in it has. */
  nextId(kind: string): string {
    return `${this.id}.${kind}${++this.#count}`;
  }

  /** Why it ended, or is about to; null while it lives. */
  get reason(): CloseReason | null {
    return this.#reason;
  }

  /** What went wrong at its end: something of it is left, then. */
  get failure(): unknown {
    return this.#failure;
  }

  /**
   * Does something with it, during which it is not idle.
   *
   * @param work Gets a signal that is aborted when the sandbox ends.
   * @throws {GoneError} If it has ended.
   */
  async use<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    this.mustLive();
    this.#calls++;
    clearTimeout(this.#idle);
    try {
      return await work(this.#inUse.signal);
    } finally {
      this.#calls--;
      this.#armIdle();
    }
  }

  /** As `use`, for what changes its files: not while they are being copied. */
  change<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return this.use((signal) => this.parts.sandbox.change(() => work(signal)));
  }

  /** @throws {GoneError} If it has ended. */
  mustLive(): void {
    if (this.#reason !== null) throw goneError(this.id, this.#reason);
  }

  /** Ends everything inside, and removes what was written; the first reason stands. */
  close(reason: CloseReason): Promise<CloseReason> {
    if (this.#reason !== null) return this.ended;
    this.#reason = reason;
    clearTimeout(this.#lifetime);
    clearTimeout(this.#idle);
    this.#inUse.abort(goneError(this.id, reason));
    this.#end().catch((error) => this.#failure = error).then(() => this.#onEnd(reason));
    return this.ended;
  }

  async #end(): Promise<void> {
    const { sandbox, place, prepared } = this.parts;
    await sandbox.close();
    await Promise.all([...this.sessions.values()].map((session) => session.close()));
    await place[Symbol.asyncDispose]();
    prepared[Symbol.dispose]();
  }

  #armIdle(): void {
    const { idleMs } = this.options;
    if (idleMs === null || this.#calls > 0 || this.#reason !== null) return;
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.#endIdle(), idleMs);
  }

  /** A program that runs is work, though nobody asks. */
  #endIdle(): void {
    const isBusy = [...this.processes.values()].some(({ end }) => end === null);
    if (isBusy) this.#armIdle();
    else void this.close("idle");
  }
}

const WORDS: Readonly<Record<CloseReason, string>> = {
  closed: "it was closed",
  callerGone: "the connection that made it has ended",
  lifetime: "its lifetime (ttlMs) is over",
  idle: "nothing was asked of it for its idleMs",
  died: "its init was ended from inside, or for want of memory",
  shutdown: "the server is ending",
};

/** The error of a sandbox that has ended. */
export function goneError(id: string, reason: CloseReason): GoneError {
  return new GoneError(`Cannot use sandbox "${id}": ${WORDS[reason]}`, {
    remedy: "Make another by sandbox.create.",
  });
}
