/** Many system calls in a row, carried out by a thread of the pool while this one goes on. */
import { machineCode } from "./code.ts";
import { FUTEX } from "./constant.ts";
import { libc } from "./libc.ts";
import { Memory, placeCode } from "./memory.ts";
import { NR } from "./syscall_number.ts";
import { END, ENTRY } from "./table.ts";

/** Offsets of the context that the machine code reads. */
const CONTEXT = { size: 24, table: 0, failed: 8, done: 16 } as const;

/** The first argument is the address of an earlier result. */
const INDIRECT = 1;

type Run = (context: bigint) => unknown;

let code: { readonly here: Run; readonly aside: Run } | undefined;

/** Placed on first use. */
function batchCode(): { readonly here: Run; readonly aside: Run } {
  if (code === undefined) {
    const address = Deno.UnsafePointer.create(placeCode(machineCode("batch")))!;
    const row = { parameters: ["u64"], result: "void" } as const;
    const here = new Deno.UnsafeFnPointer(address as Deno.PointerObject<typeof row>, row);
    const late = { ...row, nonblocking: true } as const;
    const aside = new Deno.UnsafeFnPointer(address as Deno.PointerObject<typeof late>, late);
    code = { here: (context) => here.call(context), aside: (context) => aside.call(context) };
  }
  return code;
}

/**
 * Calls that are added one by one, then made in order up to the first that fails; cleared, it is used
 * again. What it is given must not change, and no descriptor be closed, before they are done.
 */
export class Batch implements Disposable {
  readonly #memory: Memory;
  readonly #most: number;
  #context = 0;
  #table = 0;
  #count = 0;
  #isRunning = false;

  /** For so many calls, with so many bytes of what they point to. */
  constructor(calls: number, bytes: number) {
    this.#memory = new Memory(ENTRY.size * (calls + 2) + CONTEXT.size + bytes);
    this.#most = calls;
    this.clear();
  }

  /** How many calls it has. */
  get count(): number {
    return this.#count;
  }

  /** Forgets all calls; they are done. */
  clear(): void {
    this.#memory.clear();
    this.#context = this.#memory.reserve(CONTEXT.size);
    this.#table = this.#memory.reserve(ENTRY.size * (this.#most + 1), ENTRY.size);
    this.#count = 0;
  }

  /** Places bytes, and gives their address. */
  place(bytes: Uint8Array): number {
    return this.#memory.place(bytes);
  }

  /** Reserves room for bytes, and gives its address; `fill` writes to it. */
  reserve(size: number): number {
    return this.#memory.reserve(size);
  }

  /** Writes bytes to a place that was reserved. */
  fill(address: number, bytes: Uint8Array): void {
    this.#memory.fill(address, bytes);
  }

  /** Gives a copy of bytes that were placed. */
  copy(address: number, size: number): Uint8Array<ArrayBuffer> {
    return this.#memory.copy(address, size);
  }

  /** Writes numbers of 64 bits, and gives their address. */
  numbers(...values: readonly number[]): number {
    const address = this.#memory.reserve(8 * values.length);
    values.forEach((value, i) => this.#memory.setUint64(address + 8 * i, value));
    return address;
  }

  /** Adds a call of five arguments at most, and gives its index. */
  add(number: number, ...args: readonly number[]): number {
    return this.#add(number, 0, args);
  }

  /** Adds a call whose first argument is what an earlier one returned, and gives its index. */
  addTo(earlier: number, number: number, ...args: readonly number[]): number {
    return this.#add(number, INDIRECT, [this.#entry(earlier) + ENTRY.result, ...args]);
  }

  #add(number: number, flags: number, args: readonly number[]): number {
    if (this.#count === this.#most) throw new RangeError(`Cannot add a call: ${this.#most} are in`);
    const entry = this.#entry(this.#count);
    this.#memory.setUint32(entry + ENTRY.number, number);
    this.#memory.setUint32(entry + ENTRY.flags, flags);
    for (let i = 0; i < args.length; i++) {
      this.#memory.setUint64(entry + ENTRY.args + 8 * i, args[i]!);
    }
    return this.#count++;
  }

  /** Has a thread of the pool make them. */
  start(): void {
    this.#begin(0);
    this.#isRunning = true;
    batchCode().aside(BigInt(this.#context));
  }

  /** Waits for that thread, and gives the index of the call that failed; null if none did. */
  wait(): number | null {
    const done = this.#context + CONTEXT.done;
    while (this.#isRunning && this.#memory.loadInt32(done) === 0) {
      libc.futex(BigInt(NR.futex), BigInt(done), FUTEX_WAIT, 0n, 0n);
    }
    this.#isRunning = false;
    return this.#failed();
  }

  /** Makes the calls from one on in this thread; as `wait`. */
  run(first = 0): number | null {
    this.#begin(first);
    batchCode().here(BigInt(this.#context));
    return this.#failed();
  }

  /** What a call has returned. */
  result(index: number): number {
    return this.#memory.getInt64(this.#entry(index) + ENTRY.result);
  }

  #entry(index: number): number {
    return this.#table + ENTRY.size * index;
  }

  #begin(first: number): void {
    this.#memory.setUint32(this.#entry(this.#count) + ENTRY.number, END);
    this.#memory.setUint64(this.#context + CONTEXT.table, this.#entry(first));
    this.#memory.setUint64(this.#context + CONTEXT.failed, 0);
    this.#memory.setUint32(this.#context + CONTEXT.done, 0);
  }

  #failed(): number | null {
    const entry = this.#memory.getInt64(this.#context + CONTEXT.failed);
    return entry === 0 ? null : (entry - this.#table) / ENTRY.size;
  }

  /** Waits for what runs, and gives the memory back. */
  [Symbol.dispose](): void {
    this.wait();
    this.#memory[Symbol.dispose]();
  }
}

const FUTEX_WAIT = BigInt(FUTEX.FUTEX_WAIT | FUTEX.FUTEX_PRIVATE_FLAG);
