/** What a command printed: its beginning, its end, and how much there was. */
import { concat } from "@std/bytes/concat";

type Bytes = Uint8Array<ArrayBuffer>;

/** How much of an output is kept. */
export interface OutputLimit {
  readonly headBytes: number;
  readonly tailBytes: number;
}

/** An output as far as it was kept: all of it, if `head` and `tail` add up to `totalBytes`. */
export interface Output {
  readonly head: Bytes;
  readonly tail: Bytes;
  readonly totalBytes: number;
  readonly isTruncated: boolean;
}

/** What is kept where nothing is said. */
export const DEFAULT_LIMIT: OutputLimit = { headBytes: 8 << 20, tailBytes: 1 << 20 };

const NEWLINE = 10;

/** Takes output as it comes. */
export class OutputRecord {
  readonly #limit: OutputLimit;
  readonly #onOutput: ((bytes: Bytes, offset: number) => void) | undefined;
  #head: Bytes = new Uint8Array(256);
  #headLength = 0;
  #tail: Bytes[] = [];
  #tailLength = 0;
  #total = 0;
  #holdsNewlines = false;
  #hasNewline = false;

  /** @param onOutput Told of each piece and its offset; a piece is lent for the call. */
  constructor(limit: OutputLimit, onOutput?: (bytes: Bytes, offset: number) => void) {
    this.#limit = limit;
    this.#onOutput = onOutput;
  }

  /** How much there was. */
  get totalBytes(): number {
    return this.#total;
  }

  /** Takes a piece, which is lent for the call. */
  push(bytes: Bytes): void {
    if (!this.#holdsNewlines || bytes.length === 0) return this.#add(bytes);
    if (this.#hasNewline) this.#add(Uint8Array.of(NEWLINE));
    this.#hasNewline = bytes.at(-1) === NEWLINE;
    this.#add(this.#hasNewline ? bytes.subarray(0, -1) : bytes);
  }

  /** From here on a newline at the end is held back: it may turn out to be the shell's. */
  holdNewlines(): void {
    this.#holdsNewlines = true;
  }

  /** Ends the record: the newline that is held back is the shell's, or the command's. */
  finish(isShells: boolean): Output {
    if (this.#hasNewline && !isShells) this.#add(Uint8Array.of(NEWLINE));
    return this.#toOutput();
  }

  #toOutput(): Output {
    const head = this.#head.subarray(0, this.#headLength);
    const all = concat(this.#tail);
    const tail = all.subarray(Math.max(0, all.length - this.#limit.tailBytes));
    return {
      head,
      tail,
      totalBytes: this.#total,
      isTruncated: head.length + tail.length < this.#total,
    };
  }

  #add(bytes: Bytes): void {
    if (bytes.length === 0) return;
    this.#onOutput?.(bytes, this.#total);
    this.#total += bytes.length;
    const count = Math.min(bytes.length, this.#limit.headBytes - this.#headLength);
    if (count > 0) this.#addHead(bytes.subarray(0, count));
    if (count < bytes.length) this.#addTail(bytes.subarray(Math.max(0, count)));
  }

  #addHead(bytes: Bytes): void {
    const needed = this.#headLength + bytes.length;
    if (needed > this.#head.length) {
      const grown = new Uint8Array(Math.max(needed, 2 * this.#head.length));
      grown.set(this.#head.subarray(0, this.#headLength));
      this.#head = grown;
    }
    this.#head.set(bytes, this.#headLength);
    this.#headLength = needed;
  }

  #addTail(bytes: Bytes): void {
    const { tailBytes } = this.#limit;
    if (tailBytes === 0) return;
    const kept = bytes.slice(Math.max(0, bytes.length - tailBytes));
    this.#tail.push(kept);
    this.#tailLength += kept.length;
    // Pieces are dropped many at a time: shifting an array moves all that is left.
    if (this.#tailLength < 2 * tailBytes + 65536) return;
    let length = 0;
    let index = this.#tail.length;
    while (length < tailBytes) length += this.#tail[--index]!.length;
    this.#tail = this.#tail.slice(index);
    this.#tailLength = length;
  }
}
