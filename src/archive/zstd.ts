/**
 * The frames of a zstd file (RFC 8878), found by the lengths of their blocks: the decompressor takes one
 * frame only, and does not miss the end of one that is cut.
 */
import { concat } from "@std/bytes/concat";
import type { Place } from "./place.ts";

type Bytes = AsyncIterable<Uint8Array<ArrayBuffer>>;

const FRAME_MAGIC = 0xfd2fb528;
/** The sizes that the flags of a frame's header stand for. */
const CONTENT_SIZE_BYTES = [0, 2, 4, 8];
const DICTIONARY_ID_BYTES = [0, 1, 2, 4];
/** Short blocks are given together. */
const PIECE_BYTES = 64 * 1024;

/** Says whether a file begins as one of zstd does: with a frame, or one that holds no data. */
export function isZstd(head: Uint8Array): boolean {
  return head.length >= 4 && (uint32(head) === FRAME_MAGIC || isSkippable(uint32(head)));
}

/**
 * Gives the frames, each to be read to its end before the next.
 *
 * @throws {ArchiveError} If the file is cut, or holds something else.
 */
export async function* splitFrames(bytes: Bytes, place: Place): AsyncGenerator<Bytes> {
  const reader = new Reader(bytes, place);
  try {
    for (;;) {
      const magic = await reader.take(4, true);
      if (magic.length === 0) return;
      if (uint32(magic) === FRAME_MAGIC) yield readFrame(magic, reader);
      else if (isSkippable(uint32(magic))) await reader.skip(uint32(await reader.take(4)));
      else throw reader.refuse("other data follows a frame");
    }
  } finally {
    await reader.close();
  }
}

async function* readFrame(
  magic: Uint8Array<ArrayBuffer>,
  reader: Reader,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const [descriptor = 0] = await reader.take(1);
  const isSingle = (descriptor & 0x20) !== 0;
  const sizeFlag = descriptor >> 6;
  const rest = await reader.take(
    (isSingle ? 0 : 1) + DICTIONARY_ID_BYTES[descriptor & 3]! +
      (isSingle && sizeFlag === 0 ? 1 : CONTENT_SIZE_BYTES[sizeFlag]!),
  );
  let pieces = [magic, Uint8Array.of(descriptor), rest];
  let length = 0;
  for (let isLast = false; !isLast;) {
    const header = await reader.take(3);
    const fields = header[0]! | header[1]! << 8 | header[2]! << 16;
    isLast = (fields & 1) !== 0;
    const isRepeat = (fields >> 1 & 3) === 1; // of one byte
    const block = await reader.take(isRepeat ? 1 : fields >> 3);
    pieces.push(header, block);
    length += 3 + block.length;
    if (length >= PIECE_BYTES) {
      yield concat(pieces);
      pieces = [];
      length = 0;
    }
  }
  if ((descriptor & 4) !== 0) pieces.push(await reader.take(4)); // the checksum
  yield concat(pieces);
}

/** Takes an exact number of bytes at a time. */
class Reader {
  readonly #source: AsyncIterator<Uint8Array<ArrayBuffer>>;
  readonly #place: Place;
  #chunk = new Uint8Array(0);

  constructor(bytes: Bytes, place: Place) {
    this.#source = bytes[Symbol.asyncIterator]();
    this.#place = place;
  }

  /** Gives so many bytes; where the end is allowed, none if it has come. */
  async take(length: number, isEndAllowed = false): Promise<Uint8Array<ArrayBuffer>> {
    const bytes = new Uint8Array(length);
    for (let filled = 0; filled < length;) {
      const piece = await this.#next(length - filled);
      if (piece === null && isEndAllowed && filled === 0) return new Uint8Array(0);
      if (piece === null) throw this.refuse("it is truncated");
      bytes.set(piece, filled);
      filled += piece.length;
    }
    return bytes;
  }

  async skip(length: number): Promise<void> {
    for (let left = length; left > 0;) {
      const piece = await this.#next(left);
      if (piece === null) throw this.refuse("it is truncated");
      left -= piece.length;
    }
  }

  async close(): Promise<void> {
    await this.#source.return?.();
  }

  refuse(state: string): Error {
    this.#place.entry = null;
    return this.#place.refuse(`its zstd data is damaged (${state})`);
  }

  async #next(most: number): Promise<Uint8Array<ArrayBuffer> | null> {
    while (this.#chunk.length === 0) {
      const { value, done } = await this.#source.next();
      if (done) return null;
      this.#chunk = value;
    }
    const piece = this.#chunk.subarray(0, most);
    this.#chunk = this.#chunk.subarray(piece.length);
    return piece;
  }
}

function isSkippable(magic: number): boolean {
  return (magic & 0xfffffff0) >>> 0 === 0x184d2a50;
}

function uint32(bytes: Uint8Array): number {
  return new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
}
