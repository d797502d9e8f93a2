/** Directories in use by one process, each beside a lock, so that what the dead leave is known. */
import { Lock } from "./lock.ts";
import { type RemoveTree, removeTree } from "./remove.ts";

const SUFFIX = ".lock";

/** A directory of one process. */
export interface WorkDir {
  readonly dir: string;
  /** The descriptor of its lock: whoever has a copy keeps the directory. */
  readonly lockFd: number;
  /** Lets the lock go; the directory must be gone, or moved, by then. */
  readonly [Symbol.dispose]: () => void;
}

/**
 * Makes a new directory beneath `parent`.
 *
 * @throws {SyscallError | Error} If it cannot be made.
 */
export function makeWorkDir(parent: string, mode: number): WorkDir {
  for (;;) {
    const id = crypto.getRandomValues(new Uint8Array(8)).toHex();
    const dir = `${parent}/${id}`;
    // The lock comes first: a directory without one may be swept.
    const lock = Lock.tryTake(dir + SUFFIX);
    if (lock === null) continue;
    try {
      Deno.mkdirSync(dir);
      Deno.chmodSync(dir, mode);
      return { dir, lockFd: lock.fd, [Symbol.dispose]: () => lock[Symbol.dispose]() };
    } catch (error) {
      lock[Symbol.dispose]();
      throw error;
    }
  }
}

/**
 * Removes what dead processes left beneath `parent`, which is the store's own.
 *
 * @returns How many directories were removed.
 */
export async function sweepWorkDirs(
  parent: string,
  remove: RemoveTree = removeTree,
): Promise<number> {
  const ids = new Set<string>();
  for (const { name } of Deno.readDirSync(parent)) {
    ids.add(name.endsWith(SUFFIX) ? name.slice(0, -SUFFIX.length) : name);
  }
  return await sweepDead(parent, ids, remove);
}

async function sweepDead(
  parent: string,
  ids: Iterable<string>,
  remove: RemoveTree,
): Promise<number> {
  let removed = 0;
  for (const id of ids) {
    using lock = Lock.tryTake(`${parent}/${id}${SUFFIX}`);
    if (lock === null || !exists(`${parent}/${id}`)) continue;
    await remove(`${parent}/${id}`);
    removed++;
  }
  return removed;
}

function exists(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return false;
  }
}
