/** The bytes of one extended header, which are held until they are whole. */
import type { Header } from "./header.ts";
import type { Place } from "./place.ts";

/** The largest that is held in memory: names are 4 KiB, attributes 64 KiB each. */
const MAX_BYTES = 1 << 20;

/** Collects an extended header. */
export class ExtendedBody {
  /** The type of its header. */
  readonly type: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  #filled = 0;

  /** @throws {ArchiveError} If it is too large. */
  constructor({ type, size }: Header, place: Place) {
    if (size > MAX_BYTES) throw place.refuse(`is an extended header of ${size} bytes`);
    this.type = type;
    this.bytes = new Uint8Array(size);
  }

  /** Adds some of it. */
  add(piece: Uint8Array): void {
    this.bytes.set(piece, this.#filled);
    this.#filled += piece.length;
  }
}
