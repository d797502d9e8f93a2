/** What a program has printed: its head, its tail, and how much it was, in bounded memory. */
import { type Base64Wish, incompleteHead, incompleteTail, type Text, toText } from "./text.ts";

/** How much is kept, in bytes. */
export interface Keep {
  readonly headBytes: number;
  readonly tailBytes: number;
}

/** What was printed; all of it is in `text` where nothing was omitted. */
export interface Collected extends Text {
  /** How many bytes there were. */
  readonly totalBytes: number;
  /** How many bytes lie between `text` and `tail`. */
  readonly omittedBytes: number;
  /** The last bytes, where some were omitted. */
  readonly tail?: Text;
}

/** Keeps the first and the last of what is pushed. */
export class Collector {
  readonly #keep: Keep;
  #head = new Uint8Array(4096);
  #headLength = 0;
  /** A ring, made when the head is full. */
  #tail: Uint8Array<ArrayBuffer> | undefined;
  #tailTotal = 0;

  constructor(keep: Keep) {
    this.#keep = keep;
  }

  /** How many bytes were pushed. */
  get totalBytes(): number {
    return this.#headLength + this.#tailTotal;
  }

  /** Takes a copy of bytes. */
  push(bytes: Uint8Array): void {
    const taken = Math.min(bytes.length, this.#keep.headBytes - this.#headLength);
    if (taken > 0) this.#pushHead(bytes.subarray(0, taken));
    if (taken < bytes.length) this.#pushTail(bytes.subarray(taken));
  }

  /** Gives what was kept. */
  collect(withBase64: Base64Wish): Collected {
    const head = this.#head.subarray(0, this.#headLength);
    return toCollected({ head, tail: this.#readTail(), totalBytes: this.totalBytes }, withBase64);
  }

  #pushHead(bytes: Uint8Array): void {
    const needed = this.#headLength + bytes.length;
    if (needed > this.#head.length) {
      const larger = Math.min(this.#keep.headBytes, Math.max(needed, 2 * this.#head.length));
      const head = new Uint8Array(larger);
      head.set(this.#head.subarray(0, this.#headLength));
      this.#head = head;
    }
    this.#head.set(bytes, this.#headLength);
    this.#headLength = needed;
  }

  #pushTail(bytes: Uint8Array): void {
    const size = this.#keep.tailBytes;
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

  #readTail(): Uint8Array {
    const ring = this.#tail;
    if (ring === undefined) return new Uint8Array();
    if (this.#tailTotal <= ring.length) return ring.subarray(0, this.#tailTotal);
    const at = this.#tailTotal % ring.length;
    const tail = new Uint8Array(ring.length);
    tail.set(ring.subarray(at));
    tail.set(ring.subarray(0, at), ring.length - at);
    return tail;
  }
}

/** Puts a head and a tail together where nothing lies between; else text is cut between characters. */
export function toCollected(
  { head, tail, totalBytes }: {
    readonly head: Uint8Array;
    readonly tail: Uint8Array;
    readonly totalBytes: number;
  },
  withBase64: Base64Wish,
): Collected {
  if (head.length + tail.length === totalBytes) {
    const all = new Uint8Array(totalBytes);
    all.set(head);
    all.set(tail, head.length);
    return { ...toText(all, withBase64), totalBytes, omittedBytes: 0 };
  }
  const first = head.subarray(0, head.length - incompleteTail(head));
  const last = tail.subarray(incompleteHead(tail));
  return {
    ...toText(first, withBase64),
    totalBytes,
    omittedBytes: totalBytes - first.length - last.length,
    tail: toText(last, withBase64),
  };
}
