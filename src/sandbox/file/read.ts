/** A regular file inside read, piece by piece. */
import { closeQuietly, read, SEEK, seek, SyscallError } from "../../../ffi/mod.ts";
import { fileError } from "./file_error.ts";
import type { Files } from "./files.ts";
import { slices } from "./slice.ts";

/** One piece. */
const PIECE_BYTES = 256 * 1024;

/** A part of a file. */
export interface Range {
  readonly offset: number;
  /** So many bytes at most. */
  readonly length: number;
}

/**
 * Gives a part of a file as it is now; each piece is the taker's until the next is asked for. How long
 * the file said it was is not trusted.
 *
 * @throws {MinisandboxError} If it cannot be read.
 */
export async function* readFileInside(
  files: Files,
  path: string,
  { offset, length }: Range,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const { file } = await files.openFile(path);
  const rest = slices();
  try {
    if (offset > 0) seek(file, offset, SEEK.SEEK_SET);
    const buffer = new Uint8Array(PIECE_BYTES);
    for (let left = length; left > 0;) {
      const count = read(file, buffer.subarray(0, Math.min(left, buffer.length)));
      if (count === 0) return;
      left -= count;
      yield buffer.subarray(0, count);
      await rest();
    }
  } catch (error) {
    throw error instanceof SyscallError ? fileError("read", path, error) : error;
  } finally {
    closeQuietly(file);
  }
}
