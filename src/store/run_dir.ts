/**
 * Directories of runs, each with its lock in it. They come and go by the hundred, and a file beside them
 * would be one more in the directory of all: see `spread`.
 */
import { AT, close, isErrno, lstatAt, O, openAt, statFd, unlinkAt } from "../../ffi/mod.ts";
import { Lock } from "./lock.ts";
import { LAST_REMOVED, type RemoveTree } from "./remove.ts";
import type { WorkDir } from "./work.ts";

/** The name of the lock; `removeTree` removes it last. */
const LOCK = LAST_REMOVED;

/** So long a directory may be without a lock. */
const NEW_MS = 5000;

/** The name of one that `makeRunDir` made. */
const NAME = /^[0-9a-f]{16}$/;

/**
 * Makes a new directory beneath `parent`, for its owner alone.
 *
 * @throws {SyscallError | Error} If it cannot be made.
 */
export function makeRunDir(parent: string): WorkDir {
  for (;;) {
    const dir = `${parent}/${crypto.getRandomValues(new Uint8Array(8)).toHex()}`;
    Deno.mkdirSync(dir);
    const lock = openUp(dir) ? tryTake(dir) : null;
    if (lock !== null) {
      return { dir, lockFd: lock.fd, [Symbol.dispose]: () => lock[Symbol.dispose]() };
    }
  }
}

/** Gives a new directory its mode, whatever the umask; false if a sweep has taken it for a dead one's. */
function openUp(dir: string): boolean {
  try {
    Deno.chmodSync(dir, 0o700);
    return true;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return false;
  }
}

/**
 * Removes what dead processes left beneath `parent`, and says how many directories that were.
 *
 * @param isForeign Whether the directory is the caller's: only what `makeRunDir` made for this user is
 *   touched, then.
 */
export async function sweepRunDirs(
  parent: string,
  remove: RemoveTree,
  { isForeign }: { readonly isForeign: boolean },
): Promise<number> {
  let removed = 0;
  for (const { name, isDirectory } of [...Deno.readDirSync(parent)]) {
    if (!isDirectory || isForeign && !NAME.test(name)) continue;
    using found = Found.open(`${parent}/${name}`);
    if (found === null) continue;
    if (isForeign && !found.isOurs) continue;
    if (found.isNew) {
      // Its maker makes another then; who was ended a moment before the last step leaves it empty.
      if (isRemoved(`${parent}/${name}`)) removed++;
      continue;
    }
    using lock = tryTake(found.path);
    if (lock === null) continue;
    await remove(`${parent}/${name}`);
    removed++;
  }
  return removed;
}

/** A directory that was found: others may rename theirs, where they may write to the one above. */
class Found implements Disposable {
  /** Leads to it whatever its name becomes. */
  readonly path: string;
  readonly #fd: number;

  /** Opens it; null if it has gone. */
  static open(dir: string): Found | null {
    const flags = O.O_PATH | O.O_DIRECTORY | O.O_NOFOLLOW | O.O_CLOEXEC;
    try {
      return new Found(openAt(AT.AT_FDCWD, dir, flags));
    } catch (error) {
      if (isErrno(error, "ENOENT", "ENOTDIR", "ELOOP")) return null;
      throw error;
    }
  }

  private constructor(fd: number) {
    this.#fd = fd;
    this.path = `/proc/self/fd/${fd}`;
  }

  /** Whether its lock belongs to this user. */
  get isOurs(): boolean {
    return this.#lockUid() === Deno.uid();
  }

  /** Whether it has no lock yet, or no more: its maker is just about to take it, or to be done with it. */
  get isNew(): boolean {
    if (this.#lockUid() !== null) return false;
    return Date.now() - Number(statFd(this.#fd).mtimeNs / 1_000_000n) < NEW_MS;
  }

  #lockUid(): number | null {
    try {
      return lstatAt(this.#fd, LOCK).uid;
    } catch (error) {
      if (isErrno(error, "ENOENT", "EACCES")) return null;
      throw error;
    }
  }

  [Symbol.dispose](): void {
    close(this.#fd);
  }
}

/** Removes a directory that is empty, and says whether it was. */
function isRemoved(dir: string): boolean {
  try {
    unlinkAt(AT.AT_FDCWD, dir, AT.AT_REMOVEDIR);
    return true;
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTEMPTY", "ENOTDIR")) return false;
    throw error;
  }
}

/** Takes the lock of a directory; null if another has it, or the directory is gone. */
function tryTake(dir: string): Lock | null {
  try {
    return Lock.tryTake(`${dir}/${LOCK}`);
  } catch (error) {
    if (isErrno(error, "ENOENT")) return null;
    throw error;
  }
}
