/** An archive's bytes: read, and taken out of gzip or zstd where they are in it. */
import { AT, close, O, openAt, read } from "../../ffi/mod.ts";
import type { Place } from "./place.ts";
import { inflate } from "./zlib.ts";
import { isZstd, splitFrames } from "./zstd.ts";

/** A source of bytes, in pieces of any size; each is valid until the next is asked for. */
export type ByteSource = AsyncIterable<Uint8Array<ArrayBuffer>>;

/** The bytes of a tar, and whether the format around it proves that they are whole. */
export interface TarSource {
  readonly bytes: ByteSource;
  readonly isSealed: boolean;
}

const CHUNK_BYTES = 256 * 1024;

const others: readonly (readonly [name: string, magic: readonly number[]])[] = [
  ["xz", [0xfd, 0x37, 0x7a, 0x58]],
  ["bzip2", [0x42, 0x5a, 0x68]],
  ["zip", [0x50, 0x4b, 0x03, 0x04]],
];

/** Reads a descriptor to its end, blocking this thread: for a process that does nothing else. */
export async function* readDescriptor(fd: number): ByteSource {
  const buffer = new Uint8Array(CHUNK_BYTES);
  for (;;) {
    const length = read(fd, buffer);
    if (length === 0) return;
    yield buffer.subarray(0, length);
  }
}

/** As `readDescriptor`, of a file given by its path. @throws {SyscallError} If it cannot be opened. */
export async function* readFile(path: string): ByteSource {
  const fd = openAt(AT.AT_FDCWD, path, O.O_CLOEXEC);
  try {
    yield* readDescriptor(fd);
  } finally {
    close(fd);
  }
}

/**
 * Finds out what an archive is compressed with, and gives its tar.
 *
 * @throws {ArchiveError} If it is empty, or in a format that is not supported.
 */
export async function openTar(input: ByteSource, place: Place): Promise<TarSource> {
  const iterator = input[Symbol.asyncIterator]();
  let head = new Uint8Array(0);
  while (head.length < 4) {
    const { value, done } = await iterator.next();
    if (done) break;
    head = head.length === 0 && value.length >= 4 ? value : Uint8Array.from([...head, ...value]);
  }
  if (head.length === 0) throw place.refuse("it is empty");
  const bytes = resume(head, iterator);
  // The checksum of gzip and the lengths in zstd's frames leave no truncation unseen.
  if (head[0] === 0x1f && head[1] === 0x8b) {
    const tar = inflate(bytes, "gzip", (reason) => damage(place, "gzip", reason));
    return { bytes: tar, isSealed: true };
  }
  if (isZstd(head)) return { bytes: unzstd(bytes, place), isSealed: true };
  const other = others.find(([, magic]) => magic.every((byte, i) => head[i] === byte));
  if (other !== undefined) {
    throw place.refuse(`it is a ${other[0]} archive, not a tar, plain or in gzip or zstd`);
  }
  return { bytes, isSealed: false };
}

async function* resume(
  head: Uint8Array<ArrayBuffer>,
  rest: AsyncIterator<Uint8Array<ArrayBuffer>>,
): ByteSource {
  try {
    yield head;
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}

async function* unzstd(bytes: ByteSource, place: Place): ByteSource {
  for await (const frame of splitFrames(bytes, place)) {
    yield* inflate(frame, "zstd", (reason) => damage(place, "zstd", reason));
  }
}

function damage(place: Place, name: string, reason: string): Error {
  place.entry = null;
  return place.refuse(`its ${name} data is damaged (${reason})`);
}
