/** What an interactive program has printed and nobody has been given yet. */
import { findMatch, type Match, type Pattern } from "./expect.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** More than this is not kept: of older output the oldest goes. */
const KEPT_BYTES = 8 << 20;

/** A pattern may begin so far before what is new. */
const OVERLAP_BYTES = 64 * 1024;

/** Output that is waiting to be matched. */
export class Pending {
  #bytes: Bytes = new Uint8Array(4096);
  #start = 0;
  #end = 0;
  #searched = 0;
  #dropped = 0;

  /** How much was there and is no more. */
  get droppedBytes(): number {
    return this.#dropped;
  }

  /** Takes a piece, which is lent for the call. */
  push(piece: Bytes): void {
    this.#makeRoom(piece.length);
    this.#bytes.set(piece, this.#end);
    this.#end += piece.length;
    const excess = this.#end - this.#start - KEPT_BYTES;
    if (excess <= 0) return;
    this.#start += excess;
    this.#dropped += excess;
  }

  /** Finds a pattern in what nobody has been given. */
  find(patterns: readonly Pattern[]): Match | null {
    const from = Math.max(this.#start, this.#searched - OVERLAP_BYTES);
    const match = findMatch(this.#bytes.subarray(from, this.#end), patterns);
    this.#searched = this.#end;
    if (match === null) return null;
    const shift = from - this.#start;
    return { index: match.index, start: match.start + shift, end: match.end + shift };
  }

  /** Gives the first bytes away: all if it is not said how many. */
  take(count = this.#end - this.#start): Bytes {
    const taken = this.#bytes.slice(this.#start, this.#start + count);
    this.#start += count;
    this.#searched = this.#start;
    return taken;
  }

  #makeRoom(length: number): void {
    if (this.#end + length <= this.#bytes.length) return;
    const kept = this.#bytes.subarray(this.#start, this.#end);
    const needed = kept.length + length;
    const room = needed > this.#bytes.length / 2
      ? new Uint8Array(Math.max(2 * this.#bytes.length, 2 * needed))
      : this.#bytes;
    room.set(kept); // set() allows the two to overlap
    this.#bytes = room;
    this.#searched = Math.max(0, this.#searched - this.#start);
    this.#start = 0;
    this.#end = kept.length;
  }
}
