/** Tar's blocks: the unit that headers take and all else is padded to. */

/** The size of a block. */
export const BLOCK_BYTES = 512;

/** Gives how many zeros follow so many bytes, up to the next block. */
export function paddingOf(bytes: number): number {
  return (BLOCK_BYTES - bytes % BLOCK_BYTES) % BLOCK_BYTES;
}

/** Says whether a block is all zero, as those at the end are. */
export function isZeroBlock(block: Uint8Array): boolean {
  return block[0] === 0 && block.every((byte) => byte === 0);
}

/** Puts blocks together from pieces of any size. */
export class BlockTaker {
  readonly #onBlock: (block: Uint8Array, start: number) => void;
  readonly #block = new Uint8Array(BLOCK_BYTES);
  #filled = 0;

  /** `onBlock` is told where the block began, counted from the start of the piece that ends it. */
  constructor(onBlock: (block: Uint8Array, start: number) => void) {
    this.#onBlock = onBlock;
  }

  /** Whether no part of a block waits for the rest. */
  get isEmpty(): boolean {
    return this.#filled === 0;
  }

  /** Takes what one block lacks from a chunk, and says where it ended. */
  take(chunk: Uint8Array<ArrayBuffer>, at: number): number {
    const start = at - this.#filled;
    if (this.#filled === 0 && chunk.length - at >= BLOCK_BYTES) {
      this.#onBlock(chunk.subarray(at, at + BLOCK_BYTES), start);
      return at + BLOCK_BYTES;
    }
    const piece = chunk.subarray(at, at + BLOCK_BYTES - this.#filled);
    this.#block.set(piece, this.#filled);
    this.#filled += piece.length;
    if (this.#filled === BLOCK_BYTES) {
      this.#filled = 0;
      this.#onBlock(this.#block, start);
    }
    return at + piece.length;
  }
}

/** Takes the bytes that follow a header, and the zeros after them. */
export class StoredBytes {
  readonly #take: ((piece: Uint8Array<ArrayBuffer>) => void) | null;
  readonly #end: () => void;
  #left: number;
  #padding: number;

  /** `take` is null if nobody wants them; `end` is called once they are whole. */
  constructor(
    size: number,
    take: ((piece: Uint8Array<ArrayBuffer>) => void) | null = null,
    end: () => void = () => {},
  ) {
    this.#take = take;
    this.#end = end;
    this.#left = size;
    this.#padding = paddingOf(size);
    if (size === 0) end();
  }

  /** Whether all has been taken. */
  get isWhole(): boolean {
    return this.#left === 0 && this.#padding === 0;
  }

  /** Takes from a chunk what is left, and says how much that was. */
  take(chunk: Uint8Array<ArrayBuffer>, at: number): number {
    const taken = Math.min(chunk.length - at, this.#left);
    if (taken > 0) {
      this.#left -= taken;
      this.#take?.(chunk.subarray(at, at + taken));
      if (this.#left === 0) this.#end();
    }
    const skipped = Math.min(chunk.length - at - taken, this.#left === 0 ? this.#padding : 0);
    this.#padding -= skipped;
    return taken + skipped;
  }
}
