/** Tables of system calls, as our machine code carries them out. */
import type { Memory } from "./memory.ts";

/** Offsets of one entry. */
export const ENTRY = { size: 64, number: 0, flags: 4, args: 8, result: 56 } as const;

/** The number after the last call. */
export const END = 0xffff_ffff;

/** One system call of a table, in numbers; addresses point into the same memory. */
export interface TableEntry {
  /** The system call's number. */
  readonly number: number;
  /** Its arguments, at most six: a number, an address, or the result of an earlier entry. */
  readonly args: readonly (number | bigint | ResultOf)[];
  /** `ENTRY_FLAG`s. */
  readonly flags: number;
}

/** The result of the entry with this index: one argument of the table may take it. */
export interface ResultOf {
  /** The earlier entry. */
  readonly resultOf: number;
}

/** A table in memory. */
export interface Table {
  readonly address: number;
  /** The result of an entry; 0 until it has been made. */
  result(index: number): number;
  /** The index of the entry at an address. */
  indexOf(address: number): number;
}

/** Writes a table. */
export function writeTable(memory: Memory, entries: readonly TableEntry[]): Table {
  const address = memory.reserve(ENTRY.size * (entries.length + 1), ENTRY.size);
  const results = entries.map(() => memory.reserve(8));
  entries.forEach((entry, i) => writeEntry(memory, address + ENTRY.size * i, entry, results, i));
  memory.setUint32(address + ENTRY.size * entries.length, END);
  return {
    address,
    result: (index) => memory.getInt64(results[index]!),
    indexOf: (entry) => (entry - address) / ENTRY.size,
  };
}

function writeEntry(
  memory: Memory,
  address: number,
  entry: TableEntry,
  results: number[],
  index: number,
): void {
  memory.setUint32(address + ENTRY.number, entry.number);
  memory.setUint32(address + ENTRY.flags, entry.flags);
  memory.setUint64(address + ENTRY.result, results[index]!);
  entry.args.forEach((arg, i) => {
    const argument = address + ENTRY.args + 8 * i;
    if (typeof arg !== "object") return memory.setUint64(argument, arg);
    const producer = address + ENTRY.size * (arg.resultOf - index);
    memory.setUint64(producer + ENTRY.result, argument);
    memory.setUint64(argument, 0);
    results[arg.resultOf] = argument;
  });
}
