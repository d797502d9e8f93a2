/** A file's bytes and holes, read from a descriptor, and bytes written to one. */
import { type FileStatus, isErrno, read, SEEK, seek, write } from "../../ffi/mod.ts";
import type { Entry, Extent } from "./entry.ts";

const CHUNK_BYTES = 256 * 1024;

/** Finds the pieces of a file that are no holes; null if it has none. */
export function findExtents(fd: number, { size, diskBytes }: FileStatus): Extent[] | null {
  if (diskBytes >= size) return null;
  const extents: Extent[] = [];
  for (let at = 0; at < size;) {
    const offset = findData(fd, at);
    if (offset === null || offset >= size) break;
    at = Math.min(seek(fd, offset, SEEK.SEEK_HOLE), size);
    extents.push({ offset, length: at - offset });
  }
  seek(fd, 0, SEEK.SEEK_SET);
  return extents.length === 1 && extents[0]!.length === size ? null : extents;
}

/** Makes a buffer to read files with, one after the other. */
export function contentBuffer(): Uint8Array<ArrayBuffer> {
  return new Uint8Array(CHUNK_BYTES);
}

/**
 * Reads what an entry says a file holds: if the file ends before, zeros stand for the rest. A piece lies
 * in the buffer until the next is asked for.
 */
export function* readContent(
  fd: number,
  { size, extents }: Pick<Entry, "size" | "extents">,
  buffer: Uint8Array<ArrayBuffer>,
): Generator<Uint8Array> {
  for (const { offset, length } of extents ?? [{ offset: 0, length: size }]) {
    if (extents !== null) seek(fd, offset, SEEK.SEEK_SET);
    for (let left = length; left > 0;) {
      const wanted = buffer.subarray(0, Math.min(left, buffer.length));
      const got = read(fd, wanted);
      if (got === 0) wanted.fill(0);
      const piece = got === 0 ? wanted : wanted.subarray(0, got);
      left -= piece.length;
      yield piece;
    }
  }
}

/** Writes all of them. @throws {SyscallError} If refused. */
export function writeAll(fd: number, bytes: Uint8Array<ArrayBuffer>): void {
  for (let at = 0; at < bytes.length;) at += write(fd, at === 0 ? bytes : bytes.subarray(at));
}

function findData(fd: number, at: number): number | null {
  try {
    return seek(fd, at, SEEK.SEEK_DATA);
  } catch (error) {
    if (!isErrno(error, "ENXIO")) throw error;
    return null;
  }
}
