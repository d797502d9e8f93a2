/** Calls that may take long, made on a thread of Deno's pool while this one goes on. */
import { POLL } from "./constant.ts";
import { check, retry } from "./errno.ts";
import { POLLFD } from "./layout.ts";
import { libc } from "./libc.ts";

/** Resolves once a descriptor can be read, has ended, or `timeoutMs` have passed (then false). */
export async function readable(fd: number, timeoutMs = -1): Promise<boolean> {
  return await pollAsync(fd, POLL.POLLIN, timeoutMs);
}

/** Resolves once a descriptor can be written, or its reader has gone. */
export async function writable(fd: number): Promise<boolean> {
  return await pollAsync(fd, POLL.POLLOUT, -1);
}

/** Blocks this thread until a descriptor can be read; false once `timeoutMs` have passed. */
export function awaitReadable(fd: number, timeoutMs: number): boolean {
  const struct = pollfd(fd, POLL.POLLIN);
  return retry(() => libc.poll(struct, 1n, timeoutMs), () => `poll(${fd})`) > 0;
}

/** Waits until the file system that a descriptor lies on is written out. @throws {SyscallError} */
export async function syncfsWait(fd: number): Promise<void> {
  // Another thread's errno cannot be read from here: the call is made again on this one.
  if (await libc.syncfs_async(fd) < 0) {
    check(libc.syncfs(fd), () => `syncfs(${fd})`);
  }
}

/** The structure is read after the call: nothing else keeps it from being freed meanwhile. */
async function pollAsync(fd: number, events: number, timeoutMs: number): Promise<boolean> {
  const struct = pollfd(fd, events);
  for (;;) {
    const found = await libc.poll_async(struct, 1n, timeoutMs);
    const happened = new DataView(struct.buffer).getInt16(POLLFD.revents, true);
    if (found >= 0) return happened !== 0; // negative: interrupted, that thread's errno is not ours
  }
}

/** Past 64 bytes, so that it lies outside of the heap that moves. */
function pollfd(fd: number, events: number): Uint8Array<ArrayBuffer> {
  const struct = new Uint8Array(POLLFD.size + 64);
  const view = new DataView(struct.buffer);
  view.setInt32(POLLFD.fd, fd, true);
  view.setInt16(POLLFD.events, events, true);
  return struct;
}
