/** What a server has done and what it holds, as data. */
import type { BudgetState } from "../../budget/mod.ts";
import { MinisandboxError } from "../../errors.ts";
import type { Outcome, Phases } from "../outcome.ts";
import { Histogram, type HistogramState } from "./histogram.ts";
import type { CloseReason } from "./live_sandbox.ts";
import type { Server } from "./server.ts";

/** How many sandboxes there are. */
export interface Counts {
  readonly live: number;
  readonly starting: number;
  /** Of those that start: how many wait for their turn. */
  readonly queued: number;
  /** For how many more all is there already, and shall be as soon as nothing starts. */
  readonly ready: number;
  readonly readyWanted: number;
}

/** Numbers since the start of the server, and of this moment. */
export interface MetricsState {
  readonly uptimeMs: number;
  readonly sandboxes: Counts & {
    readonly max: number;
    readonly started: number;
    /** By kind of error. */
    readonly failed: Readonly<Record<string, number>>;
    /** By reason. */
    readonly ended: Readonly<Record<string, number>>;
  };
  /** Commands of processes and sessions, by kind of outcome. */
  readonly commands: Readonly<Record<string, number>>;
  /** Milliseconds that sandboxes took to be made: of each phase, and in all. */
  readonly startMs: Readonly<Record<string, HistogramState>>;
  readonly budget: BudgetState;
  readonly process: {
    readonly residentBytes: number;
    readonly openFiles: number;
    readonly threads: number;
  };
  /** Of the whole machine: the share of the last 10 s in which some task waited, in per cent. */
  readonly pressure: Readonly<Record<"cpu" | "io" | "memory", number | null>>;
}

/** Counts what a server does. */
export class Metrics {
  readonly #server: Server;
  #started = 0;
  readonly #failed = new Counter();
  readonly #ended = new Counter();
  readonly #commands = new Counter();
  readonly #start = new Map<string, Histogram>();

  constructor(server: Server) {
    this.#server = server;
  }

  /** A sandbox was made. */
  noteStart(phases: Phases): void {
    this.#started++;
    const all = phases.toJSON();
    for (const [name, ms] of Object.entries(all)) this.#histogram(name).add(ms);
    this.#histogram("total").add(Object.values(all).reduce((sum, ms) => sum + ms, 0));
  }

  /** A sandbox could not be made. */
  noteFailure(error: unknown): void {
    this.#failed.add(error instanceof MinisandboxError ? error.kind : "other");
  }

  /** A sandbox has ended. */
  noteEnd(reason: CloseReason): void {
    this.#ended.add(reason);
  }

  /** A command has ended. */
  noteCommand({ kind }: Pick<Outcome, "kind"> | { readonly kind: string }): void {
    this.#commands.add(kind);
  }

  /** All of it. */
  state(): MetricsState {
    const { counts, options, node, started } = this.#server;
    return {
      uptimeMs: Date.now() - started.getTime(),
      sandboxes: {
        ...counts,
        max: options.maxSandboxes,
        started: this.#started,
        failed: this.#failed.state(),
        ended: this.#ended.state(),
      },
      commands: this.#commands.state(),
      startMs: Object.fromEntries(
        [...this.#start].map(([name, histogram]) => [name, histogram.state()]),
      ),
      budget: node.budget.state(),
      process: readProcess(),
      pressure: {
        cpu: readPressure("cpu"),
        io: readPressure("io"),
        memory: readPressure("memory"),
      },
    };
  }

  #histogram(name: string): Histogram {
    let histogram = this.#start.get(name);
    if (histogram === undefined) this.#start.set(name, histogram = new Histogram());
    return histogram;
  }
}

class Counter {
  readonly #counts = new Map<string, number>();

  add(name: string): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }

  state(): Record<string, number> {
    return Object.fromEntries(this.#counts);
  }
}

function readProcess(): MetricsState["process"] {
  const status = Deno.readTextFileSync("/proc/self/status");
  const number = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)?.[1]);
  return {
    residentBytes: number("VmRSS") * 1024,
    openFiles: [...Deno.readDirSync("/proc/self/fd")].length,
    threads: number("Threads"),
  };
}

/** Null where this kernel does not tell (CONFIG_PSI). */
function readPressure(of: "cpu" | "io" | "memory"): number | null {
  try {
    const text = Deno.readTextFileSync(`/proc/pressure/${of}`);
    return Number(/^some avg10=([\d.]+)/m.exec(text)?.[1] ?? NaN);
  } catch {
    return null;
  }
}
