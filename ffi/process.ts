/** Wrappers of the calls on processes, signals and limits, one call each. */
import { KEYCTL, MFD, PR, W } from "./constant.ts";
import { check, isErrno, retry } from "./errno.ts";
import { RUSAGE } from "./layout.ts";
import { libc } from "./libc.ts";
import { NR } from "./syscall_number.ts";
import { cstr, flagNames, quote } from "./text.ts";

/** How a process ended, and what it and the children it waited for used. */
export interface Waited {
  /** The exit status, if it ended by itself. */
  readonly status: number | null;
  /** The signal that ended it, else null. */
  readonly signal: number | null;
  /** Processor time, user and system, in milliseconds. */
  readonly cpuMs: number;
  /** The largest resident set, in bytes. */
  readonly peakMemoryBytes: number;
}

/** Wraps `sched_yield(2)`: whoever waits for this processor runs first. */
export function yieldProcessor(): void {
  libc.sched_yield();
}

/** Wraps `kill(2)`. @throws {SyscallError} If refused. */
export function kill(pid: number, signal: number): void {
  check(libc.kill(pid, signal), () => `kill(${pid}, ${signal})`);
}

/** Wraps `signal(2)` with SIG_DFL: the signal does to us what it does to a new program. */
export function resetSignal(signal: number): void {
  check(libc.signal(signal, 0n), () => `signal(${signal}, SIG_DFL)`);
}

/** Wraps `pidfd_open(2)`. @throws {SyscallError} If there is no such process. */
export function pidfdOpen(pid: number): number {
  return check(libc.pidfd_open(BigInt(NR.pidfd_open), BigInt(pid), 0n), () => `pidfd_open(${pid})`);
}

/** Wraps `pidfd_send_signal(2)`. @throws {SyscallError} If refused, or the process has ended. */
export function pidfdSendSignal(pidfd: number, signal: number): void {
  check(
    libc.pidfd_send_signal(BigInt(NR.pidfd_send_signal), BigInt(pidfd), BigInt(signal), null, 0n),
    () => `pidfd_send_signal(${pidfd}, ${signal})`,
  );
}

/** Wraps `wait4(2)`: waits for a child and reaps it. @throws {SyscallError} If it is none of ours. */
export function wait(pid: number): Waited {
  return wait4(pid, 0)!;
}

/** As `wait`, but gives null if the child still runs. @throws {SyscallError} */
export function poll(pid: number): Waited | null {
  return wait4(pid, W.WNOHANG);
}

function wait4(pid: number, options: number): Waited | null {
  const status = new Int32Array(1);
  const usage = new BigInt64Array(RUSAGE.size / 8);
  const found = retry(
    () => libc.wait4(pid, status, options, usage),
    () => `wait4(${pid}, …, ${flagNames(W, options)}, …)`,
  );
  if (found === 0) return null;
  const word = status[0]!;
  const signal = word & 0x7f;
  const ms = (offset: number) =>
    Number(usage[offset / 8]!) * 1e3 + Number(usage[offset / 8 + 1]!) / 1e3;
  return {
    status: signal === 0 ? (word >> 8) & 0xff : null,
    signal: signal === 0 ? null : signal,
    cpuMs: ms(RUSAGE.ru_utime) + ms(RUSAGE.ru_stime),
    peakMemoryBytes: Number(usage[RUSAGE.ru_maxrss / 8]!) * 1024,
  };
}

/** Wraps `prctl(2)` with one argument. @throws {SyscallError} If refused. */
export function prctl(option: number, argument: number): void {
  check(
    libc.prctl(option, BigInt(argument), 0n, 0n, 0n),
    () => `prctl(${flagNames(PR, option)}, ${argument})`,
  );
}

/** Wraps `keyctl(2)`: puts this thread into a new session keyring. @throws {SyscallError} If refused. */
export function joinSessionKeyring(): void {
  check(
    libc.keyctl_join(BigInt(NR.keyctl), BigInt(KEYCTL.KEYCTL_JOIN_SESSION_KEYRING), null),
    () => "keyctl(KEYCTL_JOIN_SESSION_KEYRING, NULL)",
  );
}

/**
 * Wraps `memfd_create(2)` for a file that can be executed: asks for MFD_EXEC, which kernels before
 * 6.3 do not know.
 *
 * @throws {SyscallError} If refused.
 */
export function memfdCreateExecutable(name: string): number {
  const flags = MFD.MFD_CLOEXEC | MFD.MFD_ALLOW_SEALING;
  const create = (bits: number) =>
    check(
      libc.memfd_create(cstr(name), bits),
      () => `memfd_create(${quote(name)}, ${flagNames(MFD, bits)})`,
    );
  try {
    return create(flags | MFD.MFD_EXEC);
  } catch (error) {
    if (!isErrno(error, "EINVAL")) throw error;
    return create(flags);
  }
}

/** Wraps `getrlimit(2)`: the soft and the hard limit. @throws {SyscallError} If refused. */
export function getrlimit(resource: number): { readonly soft: bigint; readonly hard: bigint } {
  const struct = new BigUint64Array(2);
  check(libc.getrlimit(resource, struct), () => `getrlimit(${resource})`);
  return { soft: struct[0]!, hard: struct[1]! };
}

/** Wraps `setrlimit(2)`. @throws {SyscallError} If refused. */
export function setrlimit(resource: number, soft: bigint, hard: bigint): void {
  const struct = new BigUint64Array(2);
  struct.set([soft, hard]);
  check(libc.setrlimit(resource, struct), () => `setrlimit(${resource}, {${soft}, ${hard}})`);
}
