/** The one door to the kernel. */
export * from "./attribute.ts";
export { Batch } from "./batch.ts";
export * from "./constant.ts";
export { readDirectory, readLinkAt } from "./directory.ts";
export * from "./errno.ts";
export * from "./file.ts";
export * from "./inode_flag.ts";
export * from "./layout.ts";
export { machineCode } from "./code.ts";
export * from "./lock.ts";
export { type Machine, machine } from "./machine.ts";
export { Memory } from "./memory.ts";
export * from "./metadata.ts";
export * from "./process.ts";
export {
  ended,
  forget,
  hearArrivals,
  hungUp,
  ignoreArrivals,
  readable,
  watchArrivals,
  writable,
} from "./readiness.ts";
export * from "./socket.ts";
export { NR, NR_BY_MACHINE, NR_ONLY_X86_64, type SyscallName } from "./syscall_number.ts";
export * from "./terminal.ts";
export { cstr, type CString, flagNames, octal, quote } from "./text.ts";
export type { ResultOf, TableEntry } from "./table.ts";
export { ENTRY_FLAG, type Vclone, vclone, vcloneAside } from "./vclone.ts";
export { type Unlink, unlinkAside } from "./unlink.ts";
export * from "./wait.ts";
