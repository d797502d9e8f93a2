/** What a command printed: its beginning, its end, and how much there was. */
import { HeadTail, type Kept, type OutputLimit } from "./head_tail.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** An output as far as it was kept. */
export interface Output extends Kept {
  readonly isTruncated: boolean;
}

/** What is kept where nothing is said. */
export const DEFAULT_LIMIT: OutputLimit = { headBytes: 8 << 20, tailBytes: 1 << 20 };

const NEWLINE = 10;

/** Takes output as it comes. */
export class OutputRecord {
  readonly #kept: HeadTail;
  readonly #onOutput: ((bytes: Bytes, offset: number) => void) | undefined;
  #holdsNewlines = false;
  #hasNewline = false;

  /** @param onOutput Told of each piece and its offset; a piece is lent for the call. */
  constructor(limit: OutputLimit, onOutput?: (bytes: Bytes, offset: number) => void) {
    this.#kept = new HeadTail(limit);
    this.#onOutput = onOutput;
  }

  /** How much there was. */
  get totalBytes(): number {
    return this.#kept.totalBytes;
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
    const kept = this.#kept.read();
    return { ...kept, isTruncated: kept.head.length + kept.tail.length < kept.totalBytes };
  }

  #add(bytes: Bytes): void {
    if (bytes.length === 0) return;
    this.#onOutput?.(bytes, this.totalBytes);
    this.#kept.push(bytes);
  }
}
