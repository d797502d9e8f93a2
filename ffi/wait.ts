/** Calls that may take long: on this thread with a limit, or on one of Deno's pool. */
import { POLL } from "./constant.ts";
import { check, retry } from "./errno.ts";
import { POLLFD } from "./layout.ts";
import { libc } from "./libc.ts";

/** Blocks this thread until a descriptor can be read; false once `timeoutMs` have passed. */
export function awaitReadable(fd: number, timeoutMs: number): boolean {
  return awaitAny([fd], timeoutMs);
}

/** Does the same until one of several can. */
export function awaitAny(fds: readonly number[], timeoutMs: number): boolean {
  const structs = pollfds(fds, POLL.POLLIN);
  const wait = () => libc.poll(structs, BigInt(fds.length), timeoutMs);
  return retry(wait, () => `poll(${fds.join(", ")})`) > 0;
}

/** Waits until the file system that a descriptor lies on is written out. @throws {SyscallError} */
export async function syncfsWait(fd: number): Promise<void> {
  // Another thread's errno cannot be read from here: the call is made again on this one.
  if (await libc.syncfs_async(fd) < 0) {
    check(libc.syncfs(fd), () => `syncfs(${fd})`);
  }
}

/** Past 64 bytes, so that it lies outside of the heap that moves. */
function pollfds(fds: readonly number[], events: number): Uint8Array<ArrayBuffer> {
  const structs = new Uint8Array(POLLFD.size * fds.length + 64);
  const view = new DataView(structs.buffer);
  fds.forEach((fd, i) => {
    view.setInt32(POLLFD.size * i + POLLFD.fd, fd, true);
    view.setInt16(POLLFD.size * i + POLLFD.events, events, true);
  });
  return structs;
}
