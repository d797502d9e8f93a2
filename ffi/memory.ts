/** C memory of our own: it never moves, so its addresses may be kept. */
import { MAP, PROT } from "./constant.ts";
import { check } from "./errno.ts";
import { libc } from "./libc.ts";
import { cstr, type CString } from "./text.ts";

/** A piece of memory that is filled from its start and emptied as a whole. */
export class Memory implements Disposable {
  readonly #base: number;
  readonly #bytes: Uint8Array<ArrayBuffer>;
  readonly #view: DataView<ArrayBuffer>;
  readonly #ints: Int32Array<ArrayBuffer>;
  #used = 0;
  /** Up to here the bytes may have been written; what lies beyond is fresh from the kernel, and zero. */
  #written = 0;

  /**
   * Maps `size` bytes, readable and writable.
   *
   * @throws {SyscallError} If there is no memory.
   */
  constructor(size: number) {
    this.#base = map(size, "MAP_SHARED"); // a child with a copy of our memory tells by it too
    const buffer = Deno.UnsafePointerView.getArrayBuffer(
      Deno.UnsafePointer.create(BigInt(this.#base))!,
      size,
    );
    this.#bytes = new Uint8Array(buffer);
    this.#view = new DataView(buffer);
    this.#ints = new Int32Array(buffer, 0, buffer.byteLength >> 2);
  }

  /** Gives the memory back; nothing placed in it may be used any more. */
  [Symbol.dispose](): void {
    libc.munmap(BigInt(this.#base), BigInt(this.#bytes.length));
  }

  /** Forgets everything placed so far. */
  clear(): void {
    this.#written = Math.max(this.#written, this.#used);
    this.#used = 0;
  }

  /**
   * Reserves zeroed bytes and gives their address.
   *
   * @throws {RangeError} If they do not fit.
   */
  reserve(size: number, align = 8): number {
    const start = (this.#used + align - 1) & ~(align - 1);
    if (start + size > this.#bytes.length) {
      throw new RangeError(`Cannot place ${size} bytes: ${this.#bytes.length} are full`);
    }
    this.#used = start + size;
    if (start < this.#written) this.#bytes.fill(0, start, Math.min(start + size, this.#written));
    return this.#base + start;
  }

  /** Places bytes and gives their address. */
  place(bytes: Uint8Array, align = 1): number {
    const address = this.reserve(bytes.length, align);
    this.#bytes.set(bytes, address - this.#base);
    return address;
  }

  /** Writes bytes to where they were reserved. */
  fill(address: number, bytes: Uint8Array): void {
    this.#bytes.set(bytes, address - this.#base);
  }

  /** Places a C string and gives its address; null is 0. */
  string(text: CString | null): number {
    return text === null ? 0 : this.place(cstr(text));
  }

  /** Places a NULL-terminated array of C strings, as execve(2) takes it. */
  vector(texts: readonly CString[]): number {
    const pointers = texts.map((text) => this.string(text));
    const address = this.reserve(8 * (texts.length + 1));
    pointers.forEach((pointer, i) => this.setUint64(address + 8 * i, pointer));
    return address;
  }

  /** Writes a 64-bit number, negative ones in two's complement. */
  setUint64(address: number, value: number | bigint): void {
    const offset = address - this.#base;
    if (typeof value === "bigint") {
      this.#view.setBigUint64(offset, BigInt.asUintN(64, value), true);
      return;
    }
    this.#view.setUint32(offset, value >>> 0, true);
    this.#view.setInt32(offset + 4, Math.floor(value / 0x1_0000_0000), true);
  }

  /** Writes a 32-bit number. */
  setUint32(address: number, value: number): void {
    this.#view.setUint32(address - this.#base, value >>> 0, true);
  }

  /** Writes a 16-bit number. */
  setUint16(address: number, value: number): void {
    this.#view.setUint16(address - this.#base, value, true);
  }

  /** Gives a copy of bytes. */
  copy(address: number, size: number): Uint8Array<ArrayBuffer> {
    const start = address - this.#base;
    return this.#bytes.slice(start, start + size);
  }

  /** Reads a signed 64-bit number that a double can hold. */
  getInt64(address: number): number {
    return Number(this.#view.getBigInt64(address - this.#base, true));
  }

  /** Reads a signed 32-bit number that another thread writes. */
  loadInt32(address: number): number {
    return Atomics.load(this.#ints, (address - this.#base) >> 2);
  }

  /** Reads a signed 32-bit number. */
  getInt32(address: number): number {
    return this.#view.getInt32(address - this.#base, true);
  }
}

/**
 * Places machine code in a page that can be executed but no longer written, and gives its address.
 *
 * @throws {SyscallError} If there is no memory, or the host forbids executable pages.
 */
export function placeCode(code: Uint8Array<ArrayBuffer>): bigint {
  const size = 4096;
  const address = map(size, "MAP_PRIVATE");
  const pointer = Deno.UnsafePointer.create(BigInt(address))!;
  new Uint8Array(Deno.UnsafePointerView.getArrayBuffer(pointer, size)).set(code);
  check(
    libc.mprotect(BigInt(address), BigInt(size), PROT.PROT_READ | PROT.PROT_EXEC),
    () => `mprotect(0x${address.toString(16)}, ${size}, PROT_READ|PROT_EXEC)`,
  );
  return BigInt(address);
}

function map(size: number, kind: "MAP_SHARED" | "MAP_PRIVATE"): number {
  const prot = PROT.PROT_READ | PROT.PROT_WRITE;
  return check(
    libc.mmap(0n, BigInt(size), prot, MAP[kind] | MAP.MAP_ANONYMOUS, -1, 0n),
    () => `mmap(NULL, ${size}, PROT_READ|PROT_WRITE, ${kind}|MAP_ANONYMOUS, -1, 0)`,
  );
}
