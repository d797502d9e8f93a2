/** The processes inside a sandbox, as its own /proc shows them, and which belong together. */
import { closeQuietly, isErrno, O, openAt, pidfdSendSignal, read } from "../../ffi/mod.ts";

/** A process; its ids are those inside. */
export interface InsideProcess {
  readonly pid: number;
  readonly ppid: number;
  readonly sid: number;
  /** Whether it has ended and waits to be reaped. */
  readonly hasEnded: boolean;
  /** When it began, in clock ticks since the boot: with `pid` it is one process for ever. */
  readonly startTicks: number;
}

/** The root of a tree: a program that we started. It leads a session of its own. */
export type Root = Pick<InsideProcess, "pid" | "startTicks">;

/** The id of a sandbox's init. */
const INIT = 1;

/** Lists all processes but init. `proc` is a descriptor of the sandbox's /proc. */
export function listInside(proc: number): InsideProcess[] {
  return [...Deno.readDirSync(`/proc/self/fd/${proc}`)]
    .filter(({ name }) => /^\d+$/.test(name) && Number(name) !== INIT)
    .map(({ name }) => readStat(proc, name))
    .filter((process) => process !== null);
}

/** Reads one process; null if it is there no more. */
export function findInside(proc: number, pid: number): InsideProcess | null {
  return readStat(proc, String(pid));
}

/** Sends a signal to a process, and to no other that has got its id since; false if it is gone. */
export function signalInside(proc: number, process: InsideProcess, signal: number): boolean {
  let dir: number;
  try {
    dir = openAt(proc, String(process.pid), O.O_DIRECTORY | O.O_CLOEXEC);
  } catch (error) {
    if (isErrno(error, "ENOENT", "ESRCH")) return false;
    throw error;
  }
  try {
    const found = readStat(dir, ".");
    if (found?.startTicks !== process.startTicks) return false;
    pidfdSendSignal(dir, signal);
    return true;
  } catch (error) {
    if (isErrno(error, "ESRCH")) return false;
    throw error;
  } finally {
    closeQuietly(dir);
  }
}

/**
 * Finds what belongs to a root: its descendants, its session, sessions that they lead, and orphans
 * that have begun since and belong to no other root. Who has left all of this cannot be told apart
 * from an orphan of the root.
 *
 * @param others The other roots.
 * @param ticks Orphans from then on are the root's; when it began, if it is not said.
 */
export function treeOf(
  all: readonly InsideProcess[],
  root: Root,
  others: readonly Root[],
  ticks = root.startTicks,
): InsideProcess[] {
  const foreign = closure(all, all.filter((it) => others.some((other) => isSame(it, other))));
  for (const it of all) if (others.some(({ pid }) => pid === it.sid)) foreign.add(it.pid);
  const own = closure(
    all,
    all.filter((it) =>
      isSame(it, root) || it.sid === root.pid ||
      (it.ppid === INIT && it.startTicks >= ticks && !foreign.has(it.pid) &&
        !others.some((other) => isSame(it, other)))
    ),
  );
  return all.filter(({ pid }) => own.has(pid) && !foreign.has(pid));
}

/** Adds the descendants, and the sessions that members lead. */
function closure(all: readonly InsideProcess[], seeds: readonly InsideProcess[]): Set<number> {
  const byParent = Map.groupBy(all, ({ ppid }) => ppid);
  const bySession = Map.groupBy(all, ({ sid }) => sid);
  const found = new Set<number>();
  const open = [...seeds];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (found.has(next.pid)) continue;
    found.add(next.pid);
    open.push(...byParent.get(next.pid) ?? [], ...bySession.get(next.pid) ?? []);
  }
  return found;
}

function isSame(process: InsideProcess, root: Root): boolean {
  return process.pid === root.pid && process.startTicks === root.startTicks;
}

/** More than any line of /proc/pid/stat takes. */
const STAT_BYTES = 4096;

/**
 * Reads `stat` in a directory below a descriptor; null if its process is there no more. A name may
 * hold anything, parentheses too (proc(5), /proc/pid/stat).
 */
function readStat(dir: number, name: string): InsideProcess | null {
  const bytes = readSmall(dir, `${name}/stat`);
  if (bytes === null) return null;
  const text = decoder.decode(bytes);
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return {
    pid: parseInt(text),
    ppid: Number(fields[1]),
    sid: Number(fields[3]),
    hasEnded: fields[0] === "Z" || fields[0] === "X",
    startTicks: Number(fields[19]),
  };
}

const decoder = new TextDecoder();

/** A process may end before it is opened (ENOENT), or before it is read (ESRCH). */
function readSmall(dir: number, path: string): Uint8Array | null {
  let fd = -1;
  try {
    fd = openAt(dir, path, O.O_CLOEXEC);
    const buffer = new Uint8Array(STAT_BYTES);
    return buffer.subarray(0, read(fd, buffer));
  } catch (error) {
    if (isErrno(error, "ENOENT", "ESRCH")) return null;
    throw error;
  } finally {
    if (fd >= 0) closeQuietly(fd);
  }
}
