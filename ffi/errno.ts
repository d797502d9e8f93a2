/** errno: read in the statement after the call, and turned into a `SyscallError`. */
import { libc } from "./libc.ts";

/** The error numbers the kernel gives, by name (asm-generic, the same on x86_64 and aarch64). */
export const ERRNO = {
  EPERM: 1,
  ENOENT: 2,
  ESRCH: 3,
  EINTR: 4,
  EIO: 5,
  ENXIO: 6,
  E2BIG: 7,
  ENOEXEC: 8,
  EBADF: 9,
  ECHILD: 10,
  EAGAIN: 11,
  ENOMEM: 12,
  EACCES: 13,
  EFAULT: 14,
  ENOTBLK: 15,
  EBUSY: 16,
  EEXIST: 17,
  EXDEV: 18,
  ENODEV: 19,
  ENOTDIR: 20,
  EISDIR: 21,
  EINVAL: 22,
  ENFILE: 23,
  EMFILE: 24,
  ENOTTY: 25,
  ETXTBSY: 26,
  EFBIG: 27,
  ENOSPC: 28,
  ESPIPE: 29,
  EROFS: 30,
  EMLINK: 31,
  EPIPE: 32,
  ERANGE: 34,
  EDEADLK: 35,
  ENAMETOOLONG: 36,
  ENOSYS: 38,
  ENOTEMPTY: 39,
  ELOOP: 40,
  ENODATA: 61,
  EPROTO: 71,
  EBADMSG: 74,
  EOVERFLOW: 75,
  EUSERS: 87,
  EOPNOTSUPP: 95,
  ECONNABORTED: 103,
  ECONNRESET: 104,
  ECONNREFUSED: 111,
  ESTALE: 116,
  EDQUOT: 122,
  ECANCELED: 125,
} as const;

/** The name of an error number, as strace prints it. */
export type ErrnoName = keyof typeof ERRNO;

const names = new Map<number, string>(Object.entries(ERRNO).map(([name, value]) => [value, name]));

const location = new Int32Array(
  Deno.UnsafePointerView.getArrayBuffer(libc.__errno_location()!, 4),
);

/** A system call that the kernel refused. */
export class SyscallError extends Error {
  override name = "SyscallError";
  /** The error number. */
  readonly errno: number;
  /** Its name, `EPERM`. */
  readonly code: string;
  /** The call in strace's form, without its result. */
  readonly call: string;

  constructor(call: string, errno: number) {
    super(`${call}: ${describeErrno(errno)}`);
    this.errno = errno;
    this.code = nameErrno(errno);
    this.call = call;
  }
}

/** Gives the name of an error number: `1` is `EPERM`. */
export function nameErrno(errno: number): string {
  return names.get(errno) ?? `errno ${errno}`;
}

/** Gives an error number in strace's form: `EPERM (Operation not permitted)`. */
export function describeErrno(errno: number): string {
  const text = Deno.UnsafePointerView.getCString(libc.strerror(errno)!);
  return `${nameErrno(errno)} (${text})`;
}

/**
 * Returns what a call returned, or throws its errno. Nothing may run between the call and this.
 *
 * @throws {SyscallError} If the result is negative.
 */
export function check(result: number | bigint, describe: () => string): number {
  const value = Number(result);
  if (value < 0) throw new SyscallError(describe(), location[0]!);
  return value;
}

/**
 * Makes a call again for as long as a signal interrupts it, then returns what it returned.
 *
 * @throws {SyscallError} If the result is negative.
 */
export function retry(call: () => number | bigint, describe: () => string): number {
  return attempt(call, [], describe);
}

/**
 * As `retry`, but gives -1 for a refusal with one of these numbers: an error costs more than the call.
 *
 * @throws {SyscallError} If the result is negative for another reason.
 */
export function attempt(
  call: () => number | bigint,
  tolerated: readonly number[],
  describe: () => string,
): number {
  let isConfirmed = false;
  for (;;) {
    const value = Number(call());
    if (value >= 0) return value;
    const errno = location[0]!;
    if (tolerated.includes(errno)) return -1;
    // The runtime may have looked for a file in between, which is not there: the call says it again.
    if (errno === ERRNO.ENOENT && !isConfirmed) isConfirmed = true;
    else if (errno !== ERRNO.EINTR) throw new SyscallError(describe(), errno);
  }
}

/** Says whether something thrown is a refusal by the kernel with one of these names. */
export function isErrno(error: unknown, ...wanted: ErrnoName[]): error is SyscallError {
  return error instanceof SyscallError && wanted.some((name) => ERRNO[name] === error.errno);
}
