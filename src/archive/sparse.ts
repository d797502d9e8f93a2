/** Sparse files: where the stored bytes lie in the file, in GNU tar's old format and its pax formats. */
import type { Entry, EntrySink, Extent } from "./entry.ts";
import { parseNumber } from "./number.ts";
import type { Place } from "./place.ts";

/** The most pieces of one file that are held: 16 MB of numbers. */
const MAX_EXTENTS = 1 << 20;

/** A map, perhaps one that goes on in the blocks after the header. */
export interface SparseMap {
  /** Whether those blocks count as the entry's bytes. */
  readonly isInData: boolean;
  readonly extents: readonly Extent[];
  /** Takes a block and says whether the map has ended. @throws {ArchiveError} If it is malformed. */
  take(block: Uint8Array): boolean;
}

/** What is known of a sparse file after its headers. */
export interface SparseForm {
  /** How long the file is. */
  readonly size: number;
  readonly map: SparseMap;
  /** Whether blocks of the map follow. */
  readonly goesOn: boolean;
}

/** Parses a header of type S: four pieces, and 21 in each block that follows. */
export function oldGnuForm(header: Uint8Array, place: Place): SparseForm {
  const map = new OldGnuMap(place);
  map.read(header, 386, 4);
  return { size: map.number(header, 483), map, goesOn: header[482] !== 0 };
}

/** Makes the map of formats 0.0 and 0.1, where offsets and lengths stand in turn. */
export function wholeMap(numbers: readonly string[], place: Place): SparseMap {
  const extents: Extent[] = [];
  if (numbers.length % 2 !== 0) throw malformed(place);
  for (let i = 0; i < numbers.length; i += 2) {
    const [offset, length] = [numbers[i]!, numbers[i + 1]!];
    if (!/^\d{1,16}$/.test(offset) || !/^\d{1,16}$/.test(length)) throw malformed(place);
    addExtent(extents, Number(offset), Number(length), place);
  }
  return { isInData: false, extents, take: () => true };
}

class OldGnuMap implements SparseMap {
  readonly isInData = false;
  readonly extents: Extent[] = [];
  readonly #place: Place;

  constructor(place: Place) {
    this.#place = place;
  }

  take(block: Uint8Array): boolean {
    this.read(block, 0, 21);
    return block[504] === 0;
  }

  read(block: Uint8Array, from: number, count: number): void {
    for (let at = from; at < from + 24 * count; at += 24) {
      if (block[at] === 0 && block[at + 12] === 0) return; // an unused place
      addExtent(this.extents, this.number(block, at), this.number(block, at + 12), this.#place);
    }
  }

  number(block: Uint8Array, at: number): number {
    const value = parseNumber(block, at, at + 12);
    if (value === null || value < 0) throw malformed(this.#place);
    return value;
  }
}

/** The map of format 1.0: lines of decimal numbers before the file's bytes, padded to whole blocks. */
export class LineMap implements SparseMap {
  readonly isInData = true;
  readonly extents: Extent[] = [];
  readonly #place: Place;
  #line = "";
  #count = -1;
  #offset = -1;

  constructor(place: Place) {
    this.#place = place;
  }

  take(block: Uint8Array): boolean {
    for (const byte of block) {
      if (this.extents.length === this.#count) return true;
      if (byte === 0x0a) this.#takeLine();
      else if (byte < 0x30 || byte > 0x39 || this.#line.length === 16) throw malformed(this.#place);
      else this.#line += String.fromCharCode(byte);
    }
    return this.extents.length === this.#count;
  }

  #takeLine(): void {
    if (this.#line === "") throw malformed(this.#place);
    const value = Number(this.#line);
    this.#line = "";
    if (this.#count === -1) {
      this.#count = value;
    } else if (this.#offset === -1) {
      this.#offset = value;
    } else {
      addExtent(this.extents, this.#offset, value, this.#place);
      this.#offset = -1;
    }
  }
}

/** Makes sure that a map fits a file and what is stored of it, and leaves empty pieces out. */
export function checkExtents(
  extents: readonly Extent[],
  sizes: { readonly size: number; readonly stored: number },
  place: Place,
): Extent[] {
  let end = 0;
  let total = 0;
  for (const { offset, length } of extents) {
    if (offset < end) throw malformed(place);
    end = offset + length;
    total += length;
  }
  if (end > sizes.size || total !== sizes.stored) throw malformed(place);
  return extents.filter(({ length }) => length > 0);
}

/** Gives a sparse file to a sink: its stored bytes as bytes and holes. */
export class HoleSink {
  readonly #sink: EntrySink;
  readonly #entry: Entry;
  readonly #extents: readonly Extent[];
  #index = 0;
  #at = 0;

  constructor(entry: Entry, sink: EntrySink) {
    this.#sink = sink;
    this.#entry = entry;
    this.#extents = entry.extents ?? [];
    sink.begin(entry);
  }

  /** Takes stored bytes; never more than the extents have. */
  data(bytes: Uint8Array<ArrayBuffer>): void {
    for (let taken = 0; taken < bytes.length;) {
      const { offset, length } = this.#extents[this.#index]!;
      this.#skipTo(offset);
      const piece = bytes.subarray(taken, taken + offset + length - this.#at);
      this.#sink.data(piece);
      taken += piece.length;
      this.#at += piece.length;
      if (this.#at === offset + length) this.#index++;
    }
  }

  /** Ends the file, with a hole if there is one. */
  end(): void {
    this.#skipTo(this.#entry.size);
    this.#sink.end();
  }

  #skipTo(offset: number): void {
    if (offset > this.#at) this.#sink.hole(offset - this.#at);
    this.#at = Math.max(this.#at, offset);
  }
}

function addExtent(extents: Extent[], offset: number, length: number, place: Place): void {
  if (!Number.isSafeInteger(offset + length)) throw malformed(place);
  if (extents.length === MAX_EXTENTS) throw place.refuse("is a sparse file of too many pieces");
  extents.push({ offset, length });
}

function malformed(place: Place): Error {
  return place.refuse("has a malformed map of a sparse file");
}
