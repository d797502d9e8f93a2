/** The I/O budget of a node: what may be unpacked at once, by all processes that use one store. */
import { delay } from "@std/async/delay";
import { type Control, type ControlLimits, firstControl, nextControl } from "./controller.ts";
import { parseControl } from "./control_note.ts";
import { type Entry, Ledger, type OwnEntry } from "./ledger.ts";
import { Lateness } from "./lateness.ts";
import { Line, unlessAborted } from "./line.ts";
import { Meter } from "./meter.ts";
import type { BudgetMode } from "./mode.ts";
import { Pressure } from "./pressure.ts";
import { Ratio } from "./ratio.ts";
import type { Turn } from "./turn.ts";

const MIB = 1 << 20;

/** The adaptive budget holds so many like the one that waits, at least: one alone waits for itself. */
const LEAST = 2;

/** How often other processes are asked whether there is room. */
const POLL_MS = 25;

/** How often the machine is measured: less would be chance. */
const SAMPLE_MS = 1000;

/** A wait is told of once it has taken so long: most are over before. */
const TELL_MS = 100;

/** What the budget is, and what waits for it. */
export interface BudgetState {
  readonly mode: BudgetMode["kind"];
  /** What may run at once; null if there is no bound. */
  readonly budgetBytes: number | null;
  /** What runs now, of all processes. */
  readonly reservedBytes: number;
  /** How many reservations of this process wait. */
  readonly waiting: number;
  /** How many run, of all processes. */
  readonly running: number;
  /** Bytes a second, as measured last while something waited. */
  readonly throughput: number;
  /** The share of time in which tasks waited for a disk or a processor; null if it is not known. */
  readonly pressure: number | null;
}

/** A part of the budget, until it is disposed of. */
export interface Share extends Disposable {
  /** Tells how many bytes of the archive are read. */
  readonly note: (archiveBytesRead: number) => void;
  /** Tells how many bytes were written when all is done. */
  readonly finish: (unpackedBytes: number) => void;
}

/** How a budget is opened. */
export interface BudgetOptions {
  readonly mode: BudgetMode;
  readonly pressure?: Pick<Pressure, "isKnown" | "take">;
}

/** A budget. */
export class IoBudget {
  readonly mode: BudgetMode;
  readonly #dir: string;
  readonly #line = new Line();
  readonly #ratio = new Ratio();
  readonly #meter = new Meter();
  readonly #lateness = new Lateness();
  readonly #limits: ControlLimits = autoLimits(navigator.hardwareConcurrency);
  readonly #pressure: () => Pick<Pressure, "isKnown" | "take">;
  #ledger: Ledger | undefined;
  #control: Control;
  #lastPressure: number | null = null;
  #throughput = 0;
  #sampledMs = 0;
  #waiting = 0;
  /** Resolved when a share of ours has ended. */
  #ended = Promise.withResolvers<void>();

  /**
   * @param dir Where reservations are kept: one for all processes that share the budget. It is made
   * at the first reservation.
   */
  constructor(dir: string, options: BudgetOptions) {
    this.#dir = dir;
    this.mode = options.mode;
    let pressure = options.pressure;
    this.#pressure = () => pressure ??= new Pressure(); // most starts unpack nothing
    this.#control = firstControl(this.#limits);
  }

  /** Whether it adapts to throughput alone, since this kernel does not tell what tasks wait for. */
  get isBlind(): boolean {
    return this.mode.kind === "auto" && !this.#pressure().isKnown;
  }

  /**
   * Reserves what unpacking an archive will write. Reservations are served in their order; one that is
   * larger than the whole budget runs alone.
   *
   * @param archiveBytes The size of the archive.
   * @param options `onWait` is called once, if it takes a while.
   * @throws The signal's reason, if it is aborted.
   */
  async reserve(
    archiveBytes: number,
    options: { readonly onWait?: () => void; readonly signal?: AbortSignal | undefined } = {},
  ): Promise<Share> {
    options.signal?.throwIfAborted();
    const bytes = this.#ratio.estimate(archiveBytes);
    if (this.mode.kind === "none") return this.#share(archiveBytes, bytes, null);
    this.#ledger ??= new Ledger(this.#dir);
    this.#waiting++;
    const { onWait = () => {}, signal } = options;
    const timer = setTimeout(onWait, TELL_MS);
    try {
      return this.#share(archiveBytes, bytes, await this.#wait(this.#ledger, bytes, signal));
    } finally {
      clearTimeout(timer);
      this.#waiting--;
    }
  }

  /** Tells the budget's state. */
  state(): BudgetState {
    const entries = this.#ledger?.list() ?? [];
    return {
      mode: this.mode.kind,
      budgetBytes: this.#budgetBytes(),
      reservedBytes: sum(entries),
      waiting: this.#waiting,
      running: entries.length,
      throughput: Math.round(this.#throughput),
      pressure: this.#lastPressure,
    };
  }

  async #wait(ledger: Ledger, bytes: number, signal?: AbortSignal): Promise<OwnEntry> {
    using _place = await this.#line.enter(signal);
    for (;;) {
      using turn = await this.#enter(ledger, signal);
      const entry = await this.#waitForRoom(ledger, turn, bytes, signal);
      if (entry !== null) return entry;
    }
  }

  /** Gives null if another has taken the turn meanwhile: we were stopped, and said nothing. */
  async #waitForRoom(
    ledger: Ledger,
    turn: Turn,
    bytes: number,
    signal?: AbortSignal,
  ): Promise<OwnEntry | null> {
    this.#control = parseControl(ledger.readNote()) ?? this.#control;
    this.#startSampling(ledger);
    while (turn.renew(Date.now())) {
      signal?.throwIfAborted();
      ledger.sweep();
      if (this.#hasRoom(ledger.list(), bytes)) return ledger.add(bytes);
      await this.#pause(signal);
      this.#sample(ledger, bytes);
    }
    return null;
  }

  #hasRoom(entries: readonly Entry[], bytes: number): boolean {
    const least = this.mode.kind === "auto" ? LEAST * bytes : 0;
    const most = Math.max(least, this.#budgetBytes() ?? Infinity);
    return entries.length === 0 || sum(entries) + bytes <= most;
  }

  /** Waits for the processes that are before us. */
  async #enter(ledger: Ledger, signal?: AbortSignal): Promise<Turn> {
    for (;;) {
      const turn = ledger.tryEnter(Date.now());
      if (turn !== null) return turn;
      await delay(POLL_MS, signal === undefined ? {} : { signal });
    }
  }

  /** Waits until a share of ours has ended, or it is time to look at those of others. */
  async #pause(signal?: AbortSignal): Promise<void> {
    const stop = new AbortController();
    const begin = performance.now();
    const timer = delay(POLL_MS, { signal: stop.signal })
      .then(() => this.#lateness.note(performance.now() - begin - POLL_MS), () => {});
    try {
      await unlessAborted(Promise.race([this.#ended.promise, timer]), signal);
    } finally {
      stop.abort();
    }
  }

  #startSampling(ledger: Ledger): void {
    if (performance.now() - this.#sampledMs < 2 * SAMPLE_MS) return; // it goes on
    this.#pressure().take();
    this.#lateness.take();
    this.#sampledMs = performance.now();
    this.#meter.take(ledger.list(), this.#sampledMs);
  }

  #sample(ledger: Ledger, leastBytes: number): void {
    const now = performance.now();
    if (now - this.#sampledMs < SAMPLE_MS) return;
    this.#sampledMs = now;
    this.#throughput = this.#meter.take(ledger.list(), now);
    this.#lastPressure = this.#pressure().take();
    const latencyMs = this.#lateness.take();
    if (this.mode.kind !== "auto") return;
    this.#control = nextControl(this.#control, {
      throughput: this.#throughput,
      pressure: this.#lastPressure,
      latencyMs,
      leastBytes: LEAST * leastBytes,
    }, this.#limits);
    ledger.writeNote(this.#control);
  }

  #budgetBytes(): number | null {
    if (this.mode.kind === "none") return null;
    return this.mode.kind === "fixed" ? this.mode.bytes : this.#control.budgetBytes;
  }

  #share(archiveBytes: number, bytes: number, entry: OwnEntry | null): Share {
    return {
      note: (read) => entry?.note(bytes * read / Math.max(1, archiveBytes)),
      finish: (unpackedBytes) => this.#ratio.learn(archiveBytes, unpackedBytes),
      [Symbol.dispose]: () => {
        entry?.[Symbol.dispose]();
        this.#ended.resolve();
        this.#ended = Promise.withResolvers();
      },
    };
  }
}

/** Bounds of the adaptive budget: unpacking keeps a processor busy, so the first guess counts them. */
export function autoLimits(processors: number): ControlLimits {
  return {
    firstBytes: processors * 128 * MIB,
    maxBytes: processors * 2048 * MIB,
    stepBytes: 64 * MIB,
  };
}

function sum(entries: readonly Entry[]): number {
  return entries.reduce((bytes, entry) => bytes + entry.bytes, 0);
}
