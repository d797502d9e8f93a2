/** Calls that may take long: on this thread with a limit, or on one of Deno's pool. */
import { POLL } from "./constant.ts";
import { check, retry } from "./errno.ts";
import { POLLFD } from "./layout.ts";
import { libc } from "./libc.ts";

/** Blocks this thread until a descriptor can be read; false once `timeoutMs` have passed. */
export function awaitReadable(fd: number, timeoutMs: number): boolean {
  return new Watch([fd]).wait(timeoutMs);
}

/** Descriptors for which this thread waits again and again, until one can be read or has no other end. */
export class Watch {
  readonly #fds: readonly number[];
  readonly #structs: Uint8Array<ArrayBuffer>;
  readonly #view: DataView;

  constructor(fds: readonly number[]) {
    this.#fds = fds;
    // Past 64 bytes, so that it lies outside of the heap that moves.
    this.#structs = new Uint8Array(POLLFD.size * fds.length + 64);
    this.#view = new DataView(this.#structs.buffer);
    for (const [i, fd] of fds.entries()) {
      this.#view.setInt32(POLLFD.size * i + POLLFD.fd, fd, true);
      this.#view.setInt16(POLLFD.size * i + POLLFD.events, POLL.POLLIN, true);
    }
  }

  /** Blocks; false once `timeoutMs` have passed. */
  wait(timeoutMs: number): boolean {
    const wait = () => libc.poll(this.#structs, BigInt(this.#fds.length), timeoutMs);
    return retry(wait, () => `poll(${this.#fds.join(", ")})`) > 0;
  }

  /** Whether it was this one of which `wait()` told. */
  tells(fd: number): boolean {
    return this.#view.getInt16(this.#offsetOf(fd) + POLLFD.revents, true) !== 0;
  }

  /** Watches all but this one from now on. */
  leave(fd: number): void {
    this.#view.setInt32(this.#offsetOf(fd) + POLLFD.fd, -1, true);
  }

  #offsetOf(fd: number): number {
    return POLLFD.size * this.#fds.indexOf(fd);
  }
}

/** Waits until the file system that a descriptor lies on is written out. @throws {SyscallError} */
export async function syncfsWait(fd: number): Promise<void> {
  // Another thread's errno cannot be read from here: the call is made again on this one.
  if (await libc.syncfs_async(fd) < 0) {
    check(libc.syncfs(fd), () => `syncfs(${fd})`);
  }
}
