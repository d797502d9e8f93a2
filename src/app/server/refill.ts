/** Keeps namespaces and directories ready for the next sandboxes, made while nothing else is. */
import { delay } from "@std/async/delay";
import type { Node } from "../node.ts";
import { Crowd } from "./crowd.ts";

/** For so many sandboxes all is kept ready at least, and at most. */
const LEAST = 16;
const MOST = 256;

/** Each takes three descriptors: no more than this share of those that may be is for what is not used. */
const SHARE = 16;

/** After so long without a start the server counts as idle. */
const IDLE_MS = 20;

/** After so long without a start, programs that take all processors are not waited for any longer. */
const PATIENCE_MS = 1000;

/**
 * Fills the pools, for one sandbox a turn: with as many as a crowd took not long ago, since a trainer
 * asks for the next one of that size.
 */
export class Refill implements AsyncDisposable {
  readonly #node: Node;
  readonly #isIdle: () => boolean;
  readonly #most: number;
  #timer: number | undefined;
  #wokenMs = 0;
  readonly #crowd = new Crowd();
  #isFull = false;
  #onFull = Promise.withResolvers<void>();
  #running: Promise<void> | null = null;
  #isOver = false;

  constructor(node: Node, isIdle: () => boolean) {
    this.#node = node;
    this.#isIdle = isIdle;
    this.#most = Math.min(MOST, Math.ceil(node.host.openFiles.hard / SHARE));
  }

  /** Looks soon whether there is something to do; so many sandboxes were made. */
  wake(made: number): void {
    if (this.#isOver) return;
    if (this.#isFull) {
      this.#isFull = false;
      this.#onFull = Promise.withResolvers();
    }
    this.#wokenMs = performance.now();
    this.#crowd.add(made, this.#wokenMs);
    this.#beginSoon();
  }

  /** For how many all is ready. */
  get ready(): number {
    return this.#node.places.ready ?? 0;
  }

  /** For how many it is to be. */
  get wanted(): number {
    return Math.min(Math.max(this.#crowd.expected, LEAST), this.#most);
  }

  /** Resolves once the pool is as it is kept. */
  get full(): Promise<void> {
    return this.#onFull.promise;
  }

  #beginSoon(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#begin(), IDLE_MS);
  }

  #begin(): void {
    this.#running ??= this.#fill().finally(() => this.#running = null);
  }

  /** Whoever is at work in the sandboxes is not to wait for those to come. */
  get #isPatient(): boolean {
    return performance.now() - this.#wokenMs < PATIENCE_MS;
  }

  async #fill(): Promise<void> {
    const { places } = this.#node;
    try {
      while (places.ready !== null && places.ready < this.wanted) {
        if (this.#isOver || !this.#isIdle()) return;
        if (this.#isPatient && isCrowded()) return this.#beginSoon();
        await places.fill(this.ready + 1);
        await delay(0);
      }
      this.#crowd.complete(performance.now());
      await places.keep(this.wanted);
    } catch { /* whoever asks for the next sandbox hears why */ }
    this.#isFull = true;
    this.#onFull.resolve();
  }

  /** Makes no more; what is being made is ready by then. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    clearTimeout(this.#timer);
    await this.#running;
    this.#onFull.resolve();
  }
}

/** Says whether more want a processor than there are, this thread among them (proc_loadavg(5)). */
function isCrowded(): boolean {
  const [, running] = /(\d+)\//.exec(Deno.readTextFileSync("/proc/loadavg")) ?? [];
  return Number(running) > navigator.hardwareConcurrency;
}
