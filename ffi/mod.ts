/** The one door to the kernel. */
export * from "./attribute.ts";
export * from "./constant.ts";
export { readDirectory, readLinkAt } from "./directory.ts";
export * from "./errno.ts";
export * from "./file.ts";
export * from "./layout.ts";
export { machineCode } from "./code.ts";
export { type Machine, machine } from "./machine.ts";
export { Memory } from "./memory.ts";
export * from "./metadata.ts";
export * from "./process.ts";
export { forget, hungUp, readable, writable } from "./readiness.ts";
export * from "./socket.ts";
export { NR, NR_BY_MACHINE, NR_ONLY_X86_64, type SyscallName } from "./syscall_number.ts";
export * from "./terminal.ts";
export { cstr, type CString, flagNames, octal, quote } from "./text.ts";
export { ENTRY_FLAG, type ResultOf, type TableEntry, type Vclone, vclone } from "./vclone.ts";
export * from "./wait.ts";
