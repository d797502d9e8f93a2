/** A tar stream's bytes in, its entries out: no I/O, no waiting, no entry held in memory. */
import { BLOCK_BYTES, BlockTaker, isZeroBlock, StoredBytes } from "./block.ts";
import type { Entry, EntrySink } from "./entry.ts";
import { type Header, isHeader, parseHeader } from "./header.ts";
import { ExtendedBody } from "./extended_body.ts";
import { ExtendedHeaders } from "./extended_header.ts";
import type { Place } from "./place.ts";
import { checkExtents, HoleSink, oldGnuForm, type SparseForm, type SparseMap } from "./sparse.ts";

const NOT_AN_ARCHIVE = "it is not a tar archive, plain or in gzip or zstd";

type State = "block" | "bytes" | "tail";

type Piece = Uint8Array<ArrayBuffer>;

/** A sparse file that waits for the rest of its map. */
interface SparseEntry {
  readonly entry: Entry;
  readonly map: SparseMap;
  readonly stored: number;
}

/** Decodes one tar stream that is pushed in pieces of any size. */
export class TarDecoder {
  readonly #place: Place;
  readonly #sink: EntrySink;
  readonly #extended: ExtendedHeaders;
  readonly #blocks: BlockTaker;
  #state: State = "block";
  #bytes = new StoredBytes(0);
  #sparse: SparseEntry | null = null;
  /** The bytes taken before the chunk at hand. */
  #taken = 0;

  constructor(sink: EntrySink, place: Place) {
    this.#sink = sink;
    this.#place = place;
    this.#extended = new ExtendedHeaders(place);
    this.#blocks = new BlockTaker((block, start) => this.#readBlock(block, this.#taken + start));
  }

  /**
   * Takes the next bytes.
   *
   * @throws {ArchiveError} If they are no tar, or hold what cannot be unpacked.
   */
  push(chunk: Piece): void {
    let at = 0;
    while (at < chunk.length) {
      switch (this.#state) {
        case "block":
          at = this.#blocks.take(chunk, at);
          break;
        case "bytes":
          at += this.#bytes.take(chunk, at);
          if (this.#bytes.isWhole) this.#state = "block";
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
    if (this.#state === "block" && this.#sparse === null) {
      const isWhole = this.#blocks.isEmpty && !this.#extended.isPending;
      if (isWhole && isSealed && this.#taken > 0) return;
      place.entry = null;
    }
    if (this.#taken === 0) throw place.refuse("it is empty");
    if (this.#taken < BLOCK_BYTES) throw place.refuse(NOT_AN_ARCHIVE);
    throw place.refuse(
      place.entry === null ? `it is truncated at byte ${this.#taken}` : "is truncated",
    );
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

  #openExtended(header: Header): void {
    const body = new ExtendedBody(header, this.#place);
    this.#open(header.size, (piece) => body.add(piece), () => this.#extended.add(body));
  }

  #begin(header: Header, block: Uint8Array): void {
    const entry = this.#extended.apply(header);
    // Only a file's bytes are wanted; a hard link has none, whatever its size says (as GNU tar).
    const stored = entry.kind === "link" ? 0 : this.#extended.storedSize(header);
    const form = entry.kind === "file" ? this.#sparseForm(header, block) : null;
    this.#extended.forget();
    if (form === null) {
      const sink = this.#sink;
      sink.begin(entry);
      const take = entry.kind === "file" ? (piece: Piece) => sink.data(piece) : null;
      return this.#open(stored, take, () => sink.end());
    }
    const sparse = { entry: { ...entry, size: form.size }, map: form.map, stored };
    if (form.goesOn) this.#sparse = sparse;
    else this.#beginSparse(sparse);
  }

  #sparseForm(header: Header, block: Uint8Array): SparseForm | null {
    return header.type === "S" ? oldGnuForm(block, this.#place) : this.#extended.sparseForm();
  }

  #readMap(sparse: SparseEntry, block: Uint8Array): void {
    const { entry, map } = sparse;
    const stored = map.isInData ? sparse.stored - BLOCK_BYTES : sparse.stored;
    if (stored < 0) throw this.#place.refuse("has a malformed map of a sparse file");
    const isWhole = map.take(block);
    this.#sparse = isWhole ? null : { entry, map, stored };
    if (isWhole) this.#beginSparse({ entry, map, stored });
  }

  #beginSparse({ entry, map, stored }: SparseEntry): void {
    const extents = checkExtents(map.extents, { size: entry.size, stored }, this.#place);
    const holes = new HoleSink({ ...entry, extents }, this.#sink);
    this.#open(stored, (piece) => holes.data(piece), () => holes.end());
  }

  #open(size: number, take: ((piece: Piece) => void) | null, end: () => void): void {
    this.#bytes = new StoredBytes(size, take, end);
    this.#state = this.#bytes.isWhole ? "block" : "bytes";
  }

  #checkTail(chunk: Piece, at: number): void {
    const other = chunk.findIndex((byte, i) => i >= at && byte !== 0);
    if (other === -1) return;
    this.#place.offset = this.#taken + other;
    throw this.#place.refuse(`other data follows its end, at byte ${this.#place.offset}`);
  }
}
