/** A tar stream's bytes in, its entries out: no I/O, no waiting, no entry held in memory. */
import type { Entry, EntrySink, Extent } from "./entry.ts";
import { BLOCK_BYTES, type Header, isHeader, isZeroBlock, parseHeader } from "./header.ts";
import { ExtendedHeaders } from "./extended_header.ts";
import type { Place } from "./place.ts";
import { checkExtents, HoleSink, LineMap, type MapReader, OldGnuMap } from "./sparse.ts";

/** The largest extended header that is held in memory: names are 4 KiB, attributes 64 KiB each. */
const MAX_EXTENDED_BYTES = 1 << 20;

const NOT_AN_ARCHIVE = "it is not a gzip or tar archive";

type State = "header" | "map" | "data" | "padding" | "extended" | "tail";

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
  /** The file that waits for the rest of its map. */
  #sparse: { readonly entry: Entry; readonly map: MapReader; readonly size: number } | null = null;
  #holes: HoleSink | null = null;
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
        case "map":
          at = this.#takeBlock(chunk, at);
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

  #takeBlock(chunk: Uint8Array<ArrayBuffer>, at: number): number {
    const wanted = BLOCK_BYTES - this.#filled;
    const offset = this.#taken + at - this.#filled;
    if (this.#filled === 0 && chunk.length - at >= BLOCK_BYTES) {
      this.#readBlock(chunk.subarray(at, at + BLOCK_BYTES), offset);
      return at + BLOCK_BYTES;
    }
    const piece = chunk.subarray(at, at + wanted);
    this.#block.set(piece, this.#filled);
    this.#filled += piece.length;
    if (this.#filled === BLOCK_BYTES) {
      this.#filled = 0;
      this.#readBlock(this.#block, offset);
    }
    return at + piece.length;
  }

  #readBlock(block: Uint8Array, offset: number): void {
    if (this.#sparse === null) this.#readHeader(block, offset);
    else this.#readMap(this.#sparse, block);
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
    else if (header.type !== "V" || header.size > 0) this.#begin(header, block); // V: a volume's label
  }

  #begin(header: Header, block: Uint8Array): void {
    const entry = this.#extended.apply(header);
    // Only a file's bytes are wanted; a hard link has none, whatever its size says (as GNU tar).
    const stored = entry.kind === "link" ? 0 : this.#extended.storedSize(header);
    const records = this.#extended.sparse();
    this.#extended.forget();
    if (entry.kind !== "file") return this.#beginWhole(entry, stored);
    if (header.type === "S") {
      const map = new OldGnuMap(block, this.#place);
      const sparse = { ...entry, size: map.realSize };
      if (map.goesOn) this.#beginMap(sparse, map, stored);
      else this.#beginSparse(sparse, map.extents, stored);
    } else if (records !== null) {
      const sparse = { ...entry, size: records.size };
      if (records.extents === null) this.#beginMap(sparse, new LineMap(this.#place), stored);
      else this.#beginSparse(sparse, records.extents, stored);
    } else {
      this.#beginWhole(entry, stored);
    }
  }

  #beginWhole(entry: Entry, stored: number): void {
    this.#holes = null;
    this.#sink.begin(entry);
    this.#open(stored, entry.kind !== "file");
  }

  #beginMap(entry: Entry, map: MapReader, size: number): void {
    this.#sparse = { entry, map, size };
    this.#state = "map";
  }

  #readMap(
    { entry, map, size }: { entry: Entry; map: MapReader; size: number },
    block: Uint8Array,
  ): void {
    const left = map.isInData ? size - BLOCK_BYTES : size;
    // The last block of a map may be cut short only by the end of the archive.
    if (left < 0) throw this.#place.refuse("has a malformed map of a sparse file");
    if (map.take(block)) {
      this.#sparse = null;
      this.#beginSparse(entry, map.extents, left);
    } else {
      this.#sparse = { entry, map, size: left };
    }
  }

  #beginSparse(entry: Entry, extents: readonly Extent[], stored: number): void {
    const checked = checkExtents(extents, { size: entry.size, stored }, this.#place);
    const sparse = { ...entry, extents: checked };
    this.#holes = new HoleSink(sparse, this.#sink);
    this.#sink.begin(sparse);
    this.#open(stored, false);
  }

  #open(size: number, isSkipping: boolean): void {
    this.#left = size;
    this.#padding = (BLOCK_BYTES - size % BLOCK_BYTES) % BLOCK_BYTES;
    this.#isSkipping = isSkipping;
    this.#state = "data";
    if (size === 0) this.#end();
  }

  #takeData(chunk: Uint8Array<ArrayBuffer>, at: number): number {
    const piece = chunk.subarray(at, at + this.#left);
    this.#left -= piece.length;
    if (!this.#isSkipping) (this.#holes ?? this.#sink).data(piece);
    if (this.#left === 0) this.#end();
    return at + piece.length;
  }

  #end(): void {
    this.#holes?.end();
    this.#sink.end();
    this.#state = this.#padding === 0 ? "header" : "padding";
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
    this.#left = header.size;
    this.#padding = (BLOCK_BYTES - header.size % BLOCK_BYTES) % BLOCK_BYTES;
    this.#state = "extended";
    if (header.size === 0) this.#endExtended();
  }

  #takeExtended(chunk: Uint8Array<ArrayBuffer>, at: number): number {
    const piece = chunk.subarray(at, at + this.#left);
    this.#body.set(piece, this.#body.length - this.#left);
    this.#left -= piece.length;
    if (this.#left === 0) this.#endExtended();
    return at + piece.length;
  }

  #endExtended(): void {
    this.#extended.add(this.#bodyType, this.#body);
    this.#state = this.#padding === 0 ? "header" : "padding";
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
