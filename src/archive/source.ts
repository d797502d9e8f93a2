/** An archive's bytes: read, and taken out of gzip or zstd where they are in it. */
import { Readable, type Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { read } from "../../ffi/mod.ts";
import type { Place } from "./place.ts";
import { isZstd, openFrame, splitFrames } from "./zstd.ts";

/** A source of bytes, in pieces of any size. */
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
  for (;;) {
    const buffer = new Uint8Array(CHUNK_BYTES);
    const length = read(fd, buffer);
    if (length === 0) return;
    yield buffer.subarray(0, length);
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
    head = head.length === 0 ? value : Uint8Array.from([...head, ...value]);
  }
  if (head.length === 0) throw place.refuse("it is empty");
  const bytes = resume(head, iterator);
  // The checksum of gzip and the lengths in zstd's frames leave no truncation unseen.
  if (head[0] === 0x1f && head[1] === 0x8b) return { bytes: gunzip(bytes, place), isSealed: true };
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

function gunzip(bytes: ByteSource, place: Place): ByteSource {
  return inflate(
    bytes,
    { name: "gzip", inflater: createGunzip({ chunkSize: CHUNK_BYTES }) },
    place,
  );
}

async function* unzstd(bytes: ByteSource, place: Place): ByteSource {
  for await (const frame of splitFrames(bytes, place)) {
    yield* inflate(frame, { name: "zstd", inflater: openFrame(CHUNK_BYTES) }, place);
  }
}

/** Node's inflaters and not `DecompressionStream`: faster, and gzip may have several members. */
async function* inflate(
  bytes: ByteSource,
  { name, inflater }: { readonly name: string; readonly inflater: Transform },
  place: Place,
): ByteSource {
  let sourceError: unknown = null;
  const iterator = bytes[Symbol.asyncIterator]();
  // No generator: one would be thrown the inflater's error, and take it for the source's.
  const watched = {
    [Symbol.asyncIterator]: () => watched,
    next: async () => {
      try {
        return await iterator.next();
      } catch (error) {
        sourceError = error;
        throw error;
      }
    },
    return: async () => {
      await iterator.return?.();
      return { done: true as const, value: undefined };
    },
  };
  const running = pipeline(Readable.from(watched), inflater);
  running.catch(() => {}); // told by the loop below
  try {
    for await (const chunk of inflater) {
      yield chunk;
      free(chunk);
    }
  } catch (error) {
    if (sourceError !== null || !(error instanceof Error)) throw sourceError ?? error;
    place.entry = null;
    throw place.refuse(`its ${name} data is damaged (${error.message})`, error);
  } finally {
    inflater.destroy();
  }
}

/** Gives memory back at once that the collector would leave for long, since it does not count it. */
function free(chunk: Uint8Array<ArrayBuffer>): void {
  const { buffer, byteOffset, byteLength } = chunk;
  // The inflater fills a buffer piece by piece, and leaves it once the last piece is given.
  if (byteOffset + byteLength === buffer.byteLength) buffer.transfer(0);
}
