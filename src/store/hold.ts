/** Directories that stay while somebody uses them: each with a file `lock` in it. */
import {
  AT,
  close,
  closeQuietly,
  flock,
  isErrno,
  isSameFile,
  LOCK,
  O,
  openAt,
  setTime,
  statFd,
  tryLock,
} from "../../ffi/mod.ts";

const HOUR_MS = 3_600_000;

/** When something was used last, and whether it is now. */
export interface Use {
  /** ISO 8601, to the hour. */
  readonly lastUsed: string;
  readonly isInUse: boolean;
}

/**
 * Holds a directory; null if it is not there, or on its way out.
 *
 * @returns A descriptor: the directory stays until it is closed.
 */
export function hold(dir: string): number | null {
  const lock = `${dir}/lock`;
  let fd: number;
  try {
    fd = openAt(AT.AT_FDCWD, lock, O.O_CLOEXEC);
  } catch (error) {
    if (!isErrno(error, "ENOENT")) throw error;
    return null;
  }
  flock(fd, LOCK.LOCK_SH); // others lock it for a moment only: to look, or to rename
  if (!isSameFile(fd, lock)) {
    close(fd);
    return null;
  }
  noteUse(fd);
  return fd;
}

/** Tells of a directory's use. @throws {SyscallError} If it is gone. */
export function readUse(dir: string): Use {
  const fd = openAt(AT.AT_FDCWD, `${dir}/lock`, O.O_CLOEXEC);
  try {
    const lastUsed = new Date(Number(statFd(fd).mtimeNs / 1_000_000n)).toISOString();
    return { lastUsed, isInUse: !tryLock(fd) };
  } finally {
    close(fd);
  }
}

/**
 * Takes a directory's name from it, so that nothing can begin to use it.
 *
 * @param isWanted Asked while nobody can begin: a wanted directory stays.
 * @returns Whether it was moved: false if something uses it, or it is gone.
 */
export function moveUnused(dir: string, to: string, isWanted: () => boolean): boolean {
  let fd: number;
  try {
    fd = openAt(AT.AT_FDCWD, `${dir}/lock`, O.O_CLOEXEC);
  } catch (error) {
    if (!isErrno(error, "ENOENT")) throw error;
    return false;
  }
  try {
    if (!tryLock(fd) || !isSameFile(fd, `${dir}/lock`) || isWanted()) return false;
    Deno.renameSync(dir, to);
    return true;
  } finally {
    close(fd);
  }
}

/** Last use is the lock's time, written once an hour at most; a store that may not be written stays. */
function noteUse(fd: number): void {
  const now = Date.now();
  if (now - Number(statFd(fd).mtimeNs / 1_000_000n) < HOUR_MS) return;
  try {
    setTime(fd, Math.floor(now / 1000), 0);
  } catch (error) {
    if (isErrno(error, "EROFS", "EPERM", "EACCES")) return;
    closeQuietly(fd);
    throw error;
  }
}
