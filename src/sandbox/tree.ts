/** The programs of a sandbox and what belongs to each: found, and ended, through its own /proc. */
import { delay } from "@std/async/delay";
import { SIGNAL } from "../../ffi/mod.ts";
import { Process } from "./process.ts";
import type { ProcessEntry, ProcessTable } from "./process_table.ts";

/** So often a tree is looked for that goes on growing; then there is no other way. */
const ROUNDS = 8;

/** The id of a sandbox's init, which adopts orphans. */
const INIT = 1;

/** The root of a tree: a program that we started. It leads a session of its own. */
export type Root = Pick<ProcessEntry, "pid" | "startTicks">;

/** The programs that were started in one sandbox. */
export class Trees {
  readonly #open: () => ProcessTable;
  readonly #roots = new Set<Process>();

  /** @param open Opens the table of the sandbox's processes. */
  constructor(open: () => ProcessTable) {
    this.#open = open;
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

  /**
   * Ends a program and all that belongs to it, and returns when nothing of it runs; one that has been
   * reaped already has left nothing that is known.
   *
   * @param endAll Ends everything inside: for what makes processes faster than they are found.
   */
  async end(root: Process, endAll: () => Promise<void>): Promise<void> {
    using table = this.#open();
    const own = read(table, root);
    for (let round = 1; own !== null; round++) {
      const others = [...this.#roots].filter((process) => process !== root)
        .map((process) => read(table, process)).filter((entry) => entry !== null);
      const tree = treeOf(readAll(table), own, others).filter(({ isDead }) => !isDead);
      for (const { pid } of tree) table.signal(pid, SIGNAL.SIGKILL);
      if (tree.length === 0) return;
      if (round % ROUNDS === 0) await endAll();
      await delay(round);
    }
  }
}

/**
 * Finds what belongs to a root: its descendants, its session, sessions that they lead, and orphans
 * that have begun since and belong to no other root. Who has left all of this cannot be told apart
 * from an orphan of the root.
 *
 * @param others The other roots.
 */
export function treeOf(
  all: readonly ProcessEntry[],
  root: Root,
  others: readonly Root[],
): ProcessEntry[] {
  const isOther = (entry: ProcessEntry) => others.some((other) => isSame(entry, other));
  const isOthers = ({ session }: ProcessEntry) => others.some(({ pid }) => pid === session);
  const foreign = closure(all, all.filter((entry) => isOther(entry) || isOthers(entry)));
  const isOwn = (entry: ProcessEntry) =>
    isSame(entry, root) || entry.session === root.pid ||
    (entry.parent === INIT && entry.startTicks >= root.startTicks && !foreign.has(entry.pid));
  const own = closure(all, all.filter(isOwn));
  return all.filter(({ pid }) => own.has(pid) && !foreign.has(pid));
}

/** Adds the descendants, and the sessions that members lead. */
function closure(all: readonly ProcessEntry[], seeds: readonly ProcessEntry[]): Set<number> {
  const byParent = Map.groupBy(all, ({ parent }) => parent);
  const bySession = Map.groupBy(all, ({ session }) => session);
  const found = new Set<number>();
  const open = [...seeds];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (found.has(next.pid)) continue;
    found.add(next.pid);
    open.push(...byParent.get(next.pid) ?? [], ...bySession.get(next.pid) ?? []);
  }
  return found;
}

function isSame(entry: ProcessEntry, root: Root): boolean {
  return entry.pid === root.pid && entry.startTicks === root.startTicks;
}

function readAll(table: ProcessTable): ProcessEntry[] {
  return table.pids().filter((pid) => pid !== INIT).map((pid) => table.read(pid))
    .filter((entry) => entry !== null);
}

function read(table: ProcessTable, process: Process): ProcessEntry | null {
  const pid = process.readInsidePid();
  return pid === null ? null : table.read(pid);
}
