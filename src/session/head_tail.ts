/** The first and the last of a stream of bytes, and how many there were, in bounded memory. */

type Bytes = Uint8Array<ArrayBuffer>;

/** How much of an output is kept. */
export interface OutputLimit {
  readonly headBytes: number;
  readonly tailBytes: number;
}

/** An output as far as it was kept: all of it, if `head` and `tail` add up to `totalBytes`. */
export interface Kept {
  readonly head: Bytes;
  readonly tail: Bytes;
  readonly totalBytes: number;
}

/** Keeps the first and the last of what is pushed. */
export class HeadTail {
  readonly #limit: OutputLimit;
  #head: Bytes = new Uint8Array(256);
  #headLength = 0;
  /** A ring, made when the head is full. */
  #tail: Bytes | undefined;
  #tailTotal = 0;

  constructor(limit: OutputLimit) {
    this.#limit = limit;
  }

  /** How many bytes were pushed. */
  get totalBytes(): number {
    return this.#headLength + this.#tailTotal;
  }

  /** Takes a copy of bytes. */
  push(bytes: Uint8Array): void {
    const taken = Math.min(bytes.length, this.#limit.headBytes - this.#headLength);
    if (taken > 0) this.#pushHead(bytes.subarray(0, taken));
    if (taken < bytes.length) this.#pushTail(bytes.subarray(taken));
  }

  /** Gives what was kept so far. */
  read(): Kept {
    const head = this.#head.subarray(0, this.#headLength);
    return { head, tail: this.#readTail(), totalBytes: this.totalBytes };
  }

  #pushHead(bytes: Uint8Array): void {
    const needed = this.#headLength + bytes.length;
    if (needed > this.#head.length) {
      const larger = Math.min(this.#limit.headBytes, Math.max(needed, 2 * this.#head.length));
      const head = new Uint8Array(larger);
      head.set(this.#head.subarray(0, this.#headLength));
      this.#head = head;
    }
    this.#head.set(bytes, this.#headLength);
    this.#headLength = needed;
  }

  #pushTail(bytes: Uint8Array): void {
    const size = this.#limit.tailBytes;
    const end = this.#tailTotal + bytes.length;
    this.#tailTotal = end;
    if (size === 0) return;
    const ring = this.#tail ??= new Uint8Array(size);
    const last = bytes.subarray(Math.max(0, bytes.length - size));
    const at = (end - last.length) % size;
    const upToEdge = Math.min(last.length, size - at);
    ring.set(last.subarray(0, upToEdge), at);
    ring.set(last.subarray(upToEdge), 0);
  }

  #readTail(): Bytes {
    const ring = this.#tail;
    if (ring === undefined) return new Uint8Array();
    if (this.#tailTotal <= ring.length) return ring.slice(0, this.#tailTotal);
    const at = this.#tailTotal % ring.length;
    const tail = new Uint8Array(ring.length);
    tail.set(ring.subarray(at));
    tail.set(ring.subarray(0, at), ring.length - at);
    return tail;
  }
}
