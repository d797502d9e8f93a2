/** The programs of a sandbox and what belongs to each: found, and ended, through its own /proc. */
import { delay } from "@std/async/delay";
import { SIGNAL } from "../../ffi/mod.ts";
import { type InsideProcess, listInside, signalInside, treeOf } from "./inside.ts";
import { Process } from "./process.ts";

/** So often a tree is looked for that goes on growing; then there is no other way. */
const ROUNDS = 8;

/** Calls `look` with a descriptor of the sandbox's /proc. */
export type LookAtProc = <T>(look: (proc: number) => T) => T;

/** What of a tree is ended. */
export interface TreeOptions {
  /** What to leave alone. */
  readonly spares?: (candidate: InsideProcess) => boolean;
  /** Orphans from this moment on belong to it, in clock ticks; when it began, if it is not said. */
  readonly ticks?: number;
}

/** The programs that were started in one sandbox. */
export class Trees {
  readonly #look: LookAtProc;
  readonly #roots = new Set<Process>();
  /** What a root was when its tree was last asked for: it may have been reaped since. */
  readonly #lastSeen = new WeakMap<Process, InsideProcess>();

  constructor(look: LookAtProc) {
    this.#look = look;
  }

  /** The programs that have not been reaped. */
  get roots(): ReadonlySet<Process> {
    return this.#roots;
  }

  /** Takes a program that has been started; it is forgotten when it is reaped. */
  add(pid: number): Process {
    const process = new Process(pid, (ended) => this.#roots.delete(ended));
    this.#roots.add(process);
    return process;
  }

  /** Lists what belongs to a program: its descendants, and whatever they have left behind. */
  list(root: Process, ticks?: number): InsideProcess[] {
    return this.#look((proc) => this.#find(proc, root, ticks));
  }

  /**
   * Ends a program and all that belongs to it, and returns when nothing of it runs.
   *
   * @param endAll Ends everything inside: for what makes processes faster than they are found.
   */
  async end(
    root: Process,
    { spares, ticks }: TreeOptions,
    endAll: () => Promise<void>,
  ): Promise<void> {
    for (let round = 1;; round++) {
      const left = this.#look((proc) => {
        const tree = this.#find(proc, root, ticks)
          .filter((candidate) => !candidate.hasEnded && !spares?.(candidate));
        for (const process of tree) signalInside(proc, process, SIGNAL.SIGKILL);
        return tree.length;
      });
      if (left === 0) return;
      if (round % ROUNDS === 0) await endAll();
      await delay(round);
    }
  }

  #find(proc: number, root: Process, ticks: number | undefined): InsideProcess[] {
    const all = listInside(proc);
    const roots = [...this.#roots].flatMap((process) => {
      const pid = process.readInsidePid();
      const found = all.find((it) => it.pid === pid);
      return found === undefined ? [] : [{ process, found }];
    });
    const own = roots.find(({ process }) => process === root)?.found ?? this.#lastSeen.get(root);
    if (own === undefined) return [];
    this.#lastSeen.set(root, own);
    const others = roots.filter(({ process }) => process !== root).map(({ found }) => found);
    return treeOf(all, own, others, ticks);
  }
}
