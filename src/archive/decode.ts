/** A tar stream's bytes in, its entries out: no I/O, no waiting, no entry held in memory. */
import type { EntrySink } from "./entry.ts";
import { BLOCK_BYTES, type Header, isHeader, isZeroBlock, parseHeader } from "./header.ts";
import { ExtendedHeaders } from "./extended_header.ts";
import type { Place } from "./place.ts";

/** The largest extended header that is held in memory: names are 4 KiB, attributes 64 KiB each. */
const MAX_EXTENDED_BYTES = 1 << 20;

const NOT_AN_ARCHIVE = "it is not a gzip or tar archive";

type State = "header" | "data" | "padding" | "extended" | "tail";

/** Decodes one tar stream that is pushed in pieces of any size. */
export class TarDecoder {
  readonly #place: Place;
  readonly #sink: EntrySink;
  readonly #extended: ExtendedHeaders;
  readonly #block = new Uint8Array(BLOCK_BYTES);
  #state: State = "header";
  /** How much of `#block`, or of `#body`, is filled. */
  #filled = 0;
  #body = new Uint8Array(0);
  #bodyType = "";
  #left = 0;
  #padding = 0;
  #isSkipping = false;
  /** The bytes taken before the chunk at hand. */
  #taken = 0;

  constructor(sink: EntrySink, place: Place) {
    this.#sink = sink;
    this.#place = place;
    this.#extended = new ExtendedHeaders(place);
  }

  /**
   * Takes the next bytes.
   *
   * @throws {ArchiveError} If they are no tar, or hold what cannot be unpacked.
   */
  push(chunk: Uint8Array<ArrayBuffer>): void {
    let at = 0;
    while (at < chunk.length) {
      switch (this.#state) {
        case "header":
          at = this.#takeHeader(chunk, at);
          break;
        case "data":
          at = this.#takeData(chunk, at);
          break;
        case "padding":
          at = this.#takePadding(chunk, at);
          break;
        case "extended":
          at = this.#takeExtended(chunk, at);
          break;
        case "tail":
          this.#checkTail(chunk, at);
          at = chunk.length;
          break;
      }
    }
    this.#taken += chunk.length;
  }

  /**
   * Ends the stream.
   *
   * @param isSealed Whether a checksum has shown that the stream is whole, so that an archive
   * without the zero blocks at its end cannot be a truncated one.
   * @throws {ArchiveError} If the archive is empty or truncated.
   */
  finish(isSealed: boolean): void {
    const place = this.#place;
    if (this.#state === "tail") return;
    if (this.#state === "header") {
      const isWhole = this.#filled === 0 && !this.#extended.isPending;
      if (isWhole && isSealed && this.#taken > 0) return;
      place.entry = null;
    }
    if (this.#taken === 0) throw place.refuse("it is empty");
    if (this.#taken < BLOCK_BYTES) throw place.refuse(NOT_AN_ARCHIVE);
    throw place.refuse(
      place.entry === null ? `it is truncated at byte ${this.#taken}` : "is truncated",
    );
  }

  #takeHeader(chunk: Uint8Array<ArrayBuffer>, at: number): number {
    const wanted = BLOCK_BYTES - this.#filled;
    const offset = this.#taken + at - this.#filled;
    if (this.#filled === 0 && chunk.length - at >= BLOCK_BYTES) {
      this.#readHeader(chunk.subarray(at, at + BLOCK_BYTES), offset);
      return at + BLOCK_BYTES;
    }
    const piece = chunk.subarray(at, at + wanted);
    this.#block.set(piece, this.#filled);
    this.#filled += piece.length;
    if (this.#filled === BLOCK_BYTES) {
      this.#filled = 0;
      this.#readHeader(this.#block, offset);
    }
    return at + piece.length;
  }

  #readHeader(block: Uint8Array, offset: number): void {
    const place = this.#place;
    place.entry = null;
    place.offset = offset;
    if (isZeroBlock(block)) {
      if (this.#extended.isPending) throw place.refuse("it ends after an extended header");
      this.#state = "tail";
      return;
    }
    if (!isHeader(block)) {
      throw place.refuse(
        offset === 0 ? NOT_AN_ARCHIVE : `it holds no valid header at byte ${offset}`,
      );
    }
    const header = parseHeader(block, place);
    if (ExtendedHeaders.has(header.type)) this.#openExtended(header);
    else if (header.type !== "V" || header.size > 0) this.#begin(header); // V: a volume's label
  }

  #begin(header: Header): void {
    const entry = this.#extended.apply(header);
    this.#sink.begin(entry);
    // Only a file's bytes are wanted; a hard link has none, whatever its size says (as GNU tar).
    const size = entry.kind === "link" ? 0 : this.#extended.sizeOf(header);
    this.#extended.forget();
    this.#open(size, entry.kind !== "file");
    if (size === 0) this.#sink.end();
  }

  #open(size: number, isSkipping: boolean): void {
    this.#left = size;
    this.#padding = (BLOCK_BYTES - size % BLOCK_BYTES) % BLOCK_BYTES;
    this.#isSkipping = isSkipping;
    this.#state = size === 0 ? "header" : "data";
  }

  #takeData(chunk: Uint8Array<ArrayBuffer>, at: number): number {
    const piece = chunk.subarray(at, at + this.#left);
    this.#left -= piece.length;
    if (!this.#isSkipping) this.#sink.data(piece);
    if (this.#left === 0) {
      this.#sink.end();
      this.#state = this.#padding === 0 ? "header" : "padding";
    }
    return at + piece.length;
  }

  #takePadding(chunk: Uint8Array<ArrayBuffer>, at: number): number {
    const skipped = Math.min(this.#padding, chunk.length - at);
    this.#padding -= skipped;
    if (this.#padding === 0) this.#state = "header";
    return at + skipped;
  }

  #openExtended(header: Header): void {
    if (header.size > MAX_EXTENDED_BYTES) {
      throw this.#place.refuse(`is an extended header of ${header.size} bytes`);
    }
    this.#bodyType = header.type;
    this.#body = new Uint8Array(header.size);
    this.#open(header.size, false);
    if (header.size === 0) this.#extended.add(header.type, this.#body);
    else this.#state = "extended";
  }

  #takeExtended(chunk: Uint8Array<ArrayBuffer>, at: number): number {
    const piece = chunk.subarray(at, at + this.#left);
    this.#body.set(piece, this.#body.length - this.#left);
    this.#left -= piece.length;
    if (this.#left === 0) {
      this.#extended.add(this.#bodyType, this.#body);
      this.#state = this.#padding === 0 ? "header" : "padding";
    }
    return at + piece.length;
  }

  #checkTail(chunk: Uint8Array<ArrayBuffer>, at: number): void {
    for (let i = at; i < chunk.length; i++) {
      if (chunk[i] !== 0) {
        this.#place.offset = this.#taken + i;
        throw this.#place.refuse(`other data follows its end, at byte ${this.#taken + i}`);
      }
    }
  }
}
