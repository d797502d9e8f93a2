/** Files of a root file system that we read from outside: never through a link out of it. */
import { AT, close, isErrno, O, openAt, openAt2, read, RESOLVE } from "../../../ffi/mod.ts";

/** A larger file is not what it should be. */
const MAX_BYTES = 1 << 20;

/**
 * Reads a text file beneath a root, as a program inside would find it; null if it is not there.
 *
 * @throws {SyscallError} If it cannot be read.
 */
export function readFileBeneath(root: string, path: string): string | null {
  const rootFd = openAt(AT.AT_FDCWD, root, O.O_PATH | O.O_DIRECTORY | O.O_CLOEXEC);
  try {
    const flags = O.O_NONBLOCK | O.O_CLOEXEC | O.O_NOCTTY; // it may be a FIFO or a device
    const fd = openAt2(rootFd, path, { flags, resolve: RESOLVE.RESOLVE_IN_ROOT });
    try {
      return readText(fd);
    } finally {
      close(fd);
    }
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR", "ELOOP", "EISDIR", "ENXIO", "EAGAIN")) return null;
    throw error;
  } finally {
    close(rootFd);
  }
}

function readText(fd: number): string {
  const chunks: Uint8Array[] = [];
  let size = 0;
  while (size < MAX_BYTES) {
    const chunk = new Uint8Array(64 * 1024);
    const count = read(fd, chunk);
    if (count === 0) break;
    chunks.push(chunk.subarray(0, count));
    size += count;
  }
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return new TextDecoder().decode(bytes);
}
