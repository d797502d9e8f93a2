/** Locks between processes: a file that is locked while held and gone afterwards. */
import {
  AT,
  close,
  isErrno,
  isSameFile,
  O,
  openAt,
  storeAway,
  tryLock,
  unlinkAt,
} from "../../ffi/mod.ts";
import { delay } from "@std/async/delay";

/** How often a lock that another holds is asked for; a wait inside flock(2) could not be ended. */
const POLL_MS = 50;

/** An exclusive lock. The kernel lets it go when its holder ends, in whatever way. */
export class Lock implements Disposable {
  /** Held for as long as it is open. */
  readonly fd: number;
  readonly #path: string;

  private constructor(fd: number, path: string) {
    this.fd = storeAway(fd);
    this.#path = path;
  }

  /**
   * Takes a lock, or gives null if another has it.
   *
   * @param options Whether only a file that is there is locked: null, if it is not.
   * @throws {SyscallError} If the file cannot be made.
   */
  static tryTake(path: string, { isThere = false } = {}): Lock | null {
    for (;;) {
      const fd = openLock(path, isThere ? 0 : O.O_CREAT);
      if (fd === null) return null;
      if (!tryLock(fd)) {
        close(fd);
        return null;
      }
      // The one before may have removed the file between our open and our lock.
      if (isSameFile(fd, path)) return new Lock(fd, path);
      close(fd);
    }
  }

  /**
   * Takes a lock, and waits for as long as another has it.
   *
   * @throws {SyscallError} If the file cannot be made.
   */
  static async take(
    path: string,
    options: { readonly onWait?: () => void; readonly signal?: AbortSignal | undefined } = {},
  ): Promise<Lock> {
    const { onWait, signal } = options;
    for (let turn = 0;; turn++) {
      const lock = Lock.tryTake(path);
      if (lock !== null) return lock;
      if (turn === 0) onWait?.();
      await delay(POLL_MS, signal === undefined ? {} : { signal });
    }
  }

  /** Removes the file, then lets the lock go. */
  [Symbol.dispose](): void {
    try {
      unlinkAt(AT.AT_FDCWD, this.#path);
    } catch (error) {
      if (!isErrno(error, "ENOENT", "EROFS")) throw error;
    } finally {
      close(this.fd);
    }
  }
}

function openLock(path: string, flags: number): number | null {
  try {
    const all = O.O_RDWR | O.O_NOFOLLOW | O.O_CLOEXEC | flags;
    return openAt(AT.AT_FDCWD, path, all, 0o600);
  } catch (error) {
    if (flags !== 0 || !isErrno(error, "ENOENT")) throw error;
    return null;
  }
}

/** Removes the files of locks that nobody holds: those of the dead. */
export function sweepLocks(dir: string): void {
  for (const { name } of Deno.readDirSync(dir)) Lock.tryTake(`${dir}/${name}`)?.[Symbol.dispose]();
}
