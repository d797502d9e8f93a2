/**
 * The right to add a reservation, which one process has at a time: a file that it has locked. Who has
 * it says so again and again, so that one that was stopped (SIGSTOP) does not keep all others waiting.
 */
import {
  AT,
  close,
  isErrno,
  isSameFile,
  O,
  openAt,
  setTime,
  statAt,
  tryLock,
  unlinkAt,
} from "../../ffi/mod.ts";

/** So long without a word, and the right is another's. */
const SILENCE_MS = 2000;

/** The right, until it is disposed of. */
export class Turn implements Disposable {
  readonly #fd: number;
  readonly #path: string;

  private constructor(fd: number, path: string) {
    this.#fd = fd;
    this.#path = path;
  }

  /** Takes the right; null if another has it. */
  static tryTake(path: string, nowMs: number): Turn | null {
    const fd = openAt(AT.AT_FDCWD, path, O.O_RDWR | O.O_CREAT | O.O_CLOEXEC, 0o644);
    if (tryLock(fd) && isSameFile(fd, path)) {
      const turn = new Turn(fd, path);
      turn.renew(nowMs);
      return turn;
    }
    close(fd);
    // The file of one that is silent makes room for another's: what it has locked is no right any more.
    if (isSilent(path, nowMs)) remove(path);
    return null;
  }

  /** Says that the right is used; false if another has taken it meanwhile. */
  renew(nowMs: number): boolean {
    setTime(this.#fd, Math.floor(nowMs / 1000), (nowMs % 1000) * 1_000_000);
    return isSameFile(this.#fd, this.#path);
  }

  [Symbol.dispose](): void {
    if (isSameFile(this.#fd, this.#path)) remove(this.#path);
    close(this.#fd);
  }
}

function isSilent(path: string, nowMs: number): boolean {
  try {
    return nowMs - Number(statAt(AT.AT_FDCWD, path).mtimeNs / 1_000_000n) > SILENCE_MS;
  } catch (error) {
    if (!isErrno(error, "ENOENT")) throw error;
    return false;
  }
}

function remove(path: string): void {
  try {
    unlinkAt(AT.AT_FDCWD, path);
  } catch (error) {
    if (!isErrno(error, "ENOENT")) throw error;
  }
}
