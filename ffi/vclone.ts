/**
 * Makes a process from a list of system calls: a vfork of our own.
 *
 * The child shares our memory, runs no code of libc and needs no stack; the calling thread sleeps
 * until it has executed a program or ended (clone(2), CLONE_VFORK), if that is wanted. Nothing of this
 * process changes.
 */
import { CLONE, SIGNAL } from "./constant.ts";
import { machineCode } from "./code.ts";
import { SyscallError } from "./errno.ts";
import { CLONE_ARGS } from "./layout.ts";
import { type Memory, placeCode } from "./memory.ts";
import { NR } from "./syscall_number.ts";
import { type TableEntry, writeTable } from "./table.ts";

/** Offsets of the context that the machine code reads. */
const CONTEXT = {
  size: 64,
  clone0: 0,
  clone1: 8,
  table: 16,
  error: 24,
  failed: 32,
  fullMask: 48,
  number: 56,
} as const;

/** How a table goes on after a call. */
export const ENTRY_FLAG = { ignoreError: 1, endIfPositive: 2 } as const;

/** A child, whose table may still be running if it made a process of its own. */
export interface Vclone {
  /** The child's process id. */
  readonly pid: number;
  /** A descriptor of the child. */
  readonly pidfd: number;
  /** The result of an entry; 0 until it has been made. */
  result(index: number): number;
  /** The entry that failed and its errno so far; null if none has. */
  failure(): { readonly index: number; readonly errno: number } | null;
}

let call: ((context: bigint) => bigint) | undefined;

/** Placed on first use: a program that makes no sandbox needs no executable page. */
function vcloneCode(): (context: bigint) => bigint {
  if (call === undefined) {
    const address = placeCode(machineCode("vclone"));
    const code = new Deno.UnsafeFnPointer(
      Deno.UnsafePointer.create<{ parameters: ["u64"]; result: "i64" }>(address)!,
      { parameters: ["u64"], result: "i64" } as const,
    );
    call = (context) => code.call(context);
  }
  return call;
}

/**
 * Clones a child that carries out the table in order; it ends at the first call that fails.
 *
 * `memory` holds what the table points to; it may be cleared once the child, and every process the
 * table itself cloned, has executed a program or ended.
 *
 * @param flags Namespaces and sharing, `CLONE_*`; memory, vfork and a pidfd are implied.
 * @throws {SyscallError} If the child cannot be made.
 */
export function vclone(memory: Memory, table: readonly TableEntry[], flags: number): Vclone {
  return clone(memory, table, flags | CLONE.CLONE_VFORK);
}

/**
 * Does the same, and returns as soon as there is a child: its descriptor can be read once it has ended.
 * Nothing in `memory` may be touched until it has, or has executed.
 *
 * @throws {SyscallError} As `vclone`.
 */
export function vcloneAside(
  memory: Memory,
  table: readonly TableEntry[],
  flags: number,
): Vclone {
  return clone(memory, table, flags);
}

function clone(memory: Memory, entries: readonly TableEntry[], flags: number): Vclone {
  const table = writeTable(memory, entries);
  const pidfd = memory.reserve(8);
  const args = memory.reserve(CLONE_ARGS.size);
  memory.setUint64(args + CLONE_ARGS.flags, cloneFlags(flags));
  memory.setUint64(args + CLONE_ARGS.pidfd, pidfd);
  memory.setUint64(args + CLONE_ARGS.exit_signal, SIGNAL.SIGCHLD);

  const context = memory.reserve(CONTEXT.size);
  memory.setUint64(context + CONTEXT.clone0, args);
  memory.setUint64(context + CONTEXT.clone1, CLONE_ARGS.size);
  memory.setUint64(context + CONTEXT.table, table.address);
  memory.setUint64(context + CONTEXT.fullMask, -1);
  memory.setUint64(context + CONTEXT.number, NR.clone3);

  const pid = Number(vcloneCode()(BigInt(context)));
  if (pid < 0) throw new SyscallError(`clone3(0x${cloneFlags(flags).toString(16)})`, -pid);
  return {
    pid,
    pidfd: memory.getInt32(pidfd),
    result: table.result,
    failure(): { readonly index: number; readonly errno: number } | null {
      const error = memory.getInt64(context + CONTEXT.error);
      if (error === 0) return null;
      return { index: table.indexOf(memory.getInt64(context + CONTEXT.failed)), errno: -error };
    },
  };
}

function cloneFlags(flags: number): bigint {
  return BigInt(flags) | BigInt(CLONE.CLONE_CLEAR_SIGHAND) |
    BigInt(CLONE.CLONE_VM | CLONE.CLONE_PIDFD);
}
