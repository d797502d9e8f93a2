/** Bytes of a message that comes in pieces: copied once, bounded, linear in time. */

const FIRST_BYTES = 4096;

/** Larger buffers are given back after their message. */
const KEPT_BYTES = 64 * 1024;

/** Gathers pieces until they are taken. */
export class Gather {
  #buffer = new Uint8Array(FIRST_BYTES);
  #length = 0;
  #isSkipping = false;

  /** How many bytes are held. */
  get length(): number {
    return this.#length;
  }

  /** Whether nothing has come since the last message. */
  get isEmpty(): boolean {
    return this.#length === 0 && !this.#isSkipping;
  }

  /**
   * Adds a copy of a piece.
   *
   * @param maxBytes What may be held; past it all is dropped until `take` is called.
   * @returns False the first time that there is too much.
   */
  add(piece: Uint8Array, maxBytes: number): boolean {
    if (this.#isSkipping) return true;
    const length = this.#length + piece.length;
    if (length > maxBytes) {
      this.skip();
      return false;
    }
    if (length > this.#buffer.length) this.#grow(length, maxBytes);
    this.#buffer.set(piece, this.#length);
    this.#length = length;
    return true;
  }

  /** Drops what is held and what comes, until `take` is called. */
  skip(): void {
    this.#reset();
    this.#isSkipping = true;
  }

  /** Gives what was gathered, valid until the next call of `add`; null if it was dropped. */
  take(): Uint8Array | null {
    const bytes = this.#isSkipping ? null : this.#buffer.subarray(0, this.#length);
    this.#reset();
    return bytes;
  }

  #grow(length: number, maxBytes: number): void {
    const grown = new Uint8Array(Math.max(length, Math.min(2 * this.#buffer.length, maxBytes)));
    grown.set(this.#buffer.subarray(0, this.#length));
    this.#buffer = grown;
  }

  #reset(): void {
    this.#length = 0;
    this.#isSkipping = false;
    if (this.#buffer.length > KEPT_BYTES) this.#buffer = new Uint8Array(FIRST_BYTES);
  }
}
