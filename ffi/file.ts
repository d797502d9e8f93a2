/** Wrappers of the calls on files and descriptors, one call each. */
import { AT, F, LOCK, O, RESOLVE, SEEK, SOCKET } from "./constant.ts";
import { attempt, check, ERRNO, isErrno, retry, SyscallError } from "./errno.ts";
import { OPEN_HOW, STATFS } from "./layout.ts";
import { libc } from "./libc.ts";
import { NR } from "./syscall_number.ts";
import { cstr, type CString, flagNames, octal, quote } from "./text.ts";

/** Wraps `openat(2)`; the descriptor is the caller's. @throws {SyscallError} If refused. */
export function openAt(dirfd: number, path: CString, flags: number, mode = 0): number {
  const name = cstr(path);
  return retry(
    () => libc.openat(dirfd, name, flags, mode),
    () => `openat(${at(dirfd)}, ${quote(path)}, ${flagNames(O, flags)}, ${octal(mode)})`,
  );
}

/** Wraps `openat2(2)`: a path resolved under rules (`RESOLVE`). @throws {SyscallError} If refused. */
export function openAt2(
  dirfd: number,
  path: CString,
  how: { readonly flags: number; readonly mode?: number; readonly resolve: number },
): number {
  const { flags, mode = 0, resolve } = how;
  const struct = new BigUint64Array(OPEN_HOW.size / 8 + 8);
  struct.set([BigInt(flags), BigInt(mode), BigInt(resolve)]);
  const name = cstr(path);
  return retry(
    () => libc.openat2(BigInt(NR.openat2), BigInt(dirfd), name, struct, BigInt(OPEN_HOW.size)),
    () =>
      `openat2(${at(dirfd)}, ${quote(path)}, {flags=${flagNames(O, flags)}, mode=${octal(mode)}, ` +
      `resolve=${flagNames(RESOLVE, resolve)}})`,
  );
}

/** Wraps `close(2)`; never retried. @throws {SyscallError} If it was not open, or a write failed. */
export function close(fd: number): void {
  check(libc.close(fd), () => `close(${fd})`);
}

/** Wraps `read(2)`; 0 is the end. @throws {SyscallError} If refused. */
export function read(fd: number, buffer: Uint8Array<ArrayBuffer>): number {
  return retry(
    () => libc.read(fd, buffer, BigInt(buffer.length)),
    () => `read(${fd}, …, ${buffer.length})`,
  );
}

/** Wraps `read(2)` of a descriptor that does not block: -1 if there is nothing. @throws {SyscallError} */
export function readNow(fd: number, buffer: Uint8Array<ArrayBuffer>): number {
  return attempt(
    () => libc.read(fd, buffer, BigInt(buffer.length)),
    NOTHING_YET,
    () => `read(${fd}, …, ${buffer.length})`,
  );
}

/** Wraps `write(2)` to a descriptor that does not block: -1 if it is full. @throws {SyscallError} */
export function writeNow(fd: number, bytes: Uint8Array<ArrayBuffer>): number {
  return attempt(
    () => libc.write(fd, bytes, BigInt(bytes.length)),
    NOTHING_YET,
    () => `write(${fd}, …, ${bytes.length})`,
  );
}

const NOTHING_YET = [ERRNO.EAGAIN];

/** Wraps `write(2)`; may write less. @throws {SyscallError} If refused. */
export function write(fd: number, bytes: Uint8Array<ArrayBuffer>): number {
  return retry(
    () => libc.write(fd, bytes, BigInt(bytes.length)),
    () => `write(${fd}, …, ${bytes.length})`,
  );
}

/** Wraps `pipe2(2)`. @throws {SyscallError} If refused. */
export function pipe(flags: number): { readonly reader: number; readonly writer: number } {
  const fds = new Int32Array(2);
  check(libc.pipe2(fds, flags), () => `pipe2(…, ${flagNames(O, flags)})`);
  return { reader: fds[0]!, writer: fds[1]! };
}

/** Wraps `socketpair(2)` for AF_UNIX streams that close on execution. @throws {SyscallError} */
export function socketPair(): { readonly reader: number; readonly writer: number } {
  const fds = new Int32Array(2);
  const type = SOCKET.SOCK_STREAM | SOCKET.SOCK_CLOEXEC;
  check(
    libc.socketpair(SOCKET.AF_UNIX, type, 0, fds),
    () => "socketpair(AF_UNIX, SOCK_STREAM|SOCK_CLOEXEC, 0)",
  );
  return { reader: fds[0]!, writer: fds[1]! };
}

/** Wraps `fcntl(2)` with a number as argument. @throws {SyscallError} If refused. */
export function fcntl(fd: number, operation: number, argument = 0): number {
  return check(
    libc.fcntl(fd, operation, BigInt(argument)),
    () => `fcntl(${fd}, ${flagNames(F, operation)}, ${argument})`,
  );
}

/** Wraps `flock(2)`; with LOCK_NB a lock that another holds is EAGAIN. @throws {SyscallError} */
export function flock(fd: number, operation: number): void {
  retry(() => libc.flock(fd, operation), () => `flock(${fd}, ${flagNames(LOCK, operation)})`);
}

/** Wraps `mkdirat(2)`. @throws {SyscallError} If refused. */
export function mkdirAt(dirfd: number, path: CString, mode: number): void {
  check(
    libc.mkdirat(dirfd, cstr(path), mode),
    () => `mkdirat(${at(dirfd)}, ${quote(path)}, ${octal(mode)})`,
  );
}

/** Wraps `mknodat(2)`. @throws {SyscallError} If refused. */
export function mknodAt(dirfd: number, path: CString, mode: number, device = 0): void {
  check(
    libc.mknodat(dirfd, cstr(path), mode, BigInt(device)),
    () => `mknodat(${at(dirfd)}, ${quote(path)}, ${octal(mode)}, ${device})`,
  );
}

/** Wraps `symlinkat(2)`. @throws {SyscallError} If refused. */
export function symlinkAt(target: CString, dirfd: number, path: CString): void {
  check(
    libc.symlinkat(cstr(target), dirfd, cstr(path)),
    () => `symlinkat(${quote(target)}, ${at(dirfd)}, ${quote(path)})`,
  );
}

/** Wraps `linkat(2)`. @throws {SyscallError} If refused. */
export function linkAt(
  from: { readonly dirfd: number; readonly path: CString },
  to: { readonly dirfd: number; readonly path: CString },
  flags = 0,
): void {
  check(
    libc.linkat(from.dirfd, cstr(from.path), to.dirfd, cstr(to.path), flags),
    () => `linkat(${at(from.dirfd)}, ${quote(from.path)}, ${at(to.dirfd)}, ${quote(to.path)})`,
  );
}

/** Wraps `unlinkat(2)`. @throws {SyscallError} If refused. */
export function unlinkAt(dirfd: number, path: CString, flags = 0): void {
  check(
    libc.unlinkat(dirfd, cstr(path), flags),
    () => `unlinkat(${at(dirfd)}, ${quote(path)}, ${flagNames(AT, flags)})`,
  );
}

/** Wraps `renameat(2)`. @throws {SyscallError} If refused. */
export function renameAt(
  dirfd: number,
  path: CString,
  newDirfd: number,
  newPath: CString,
): void {
  check(
    libc.renameat(dirfd, cstr(path), newDirfd, cstr(newPath)),
    () => `renameat(${at(dirfd)}, ${quote(path)}, ${at(newDirfd)}, ${quote(newPath)})`,
  );
}

/** Wraps `fchmod(2)`. @throws {SyscallError} If refused. */
export function fchmod(fd: number, mode: number): void {
  check(libc.fchmod(fd, mode), () => `fchmod(${fd}, ${octal(mode)})`);
}

/** Wraps `fchmodat(2)`, which follows a last symbolic link. @throws {SyscallError} If refused. */
export function fchmodAt(dirfd: number, path: CString, mode: number): void {
  check(
    libc.fchmodat(dirfd, cstr(path), mode, 0),
    () => `fchmodat(${at(dirfd)}, ${quote(path)}, ${octal(mode)})`,
  );
}

/** Wraps `fchownat(2)` without following a last symbolic link. @throws {SyscallError} If refused. */
export function lchownAt(dirfd: number, path: CString, uid: number, gid: number): void {
  check(
    libc.fchownat(dirfd, cstr(path), uid, gid, AT.AT_SYMLINK_NOFOLLOW),
    () => `fchownat(${at(dirfd)}, ${quote(path)}, ${uid}, ${gid}, AT_SYMLINK_NOFOLLOW)`,
  );
}

/**
 * Wraps `utimensat(2)` without following a last symbolic link: both times, in nanoseconds.
 *
 * @throws {SyscallError} If refused.
 */
export function setTimeAt(dirfd: number, path: CString, nanoseconds: bigint): void {
  const second = 1_000_000_000n;
  const fraction = ((nanoseconds % second) + second) % second;
  const time = [(nanoseconds - fraction) / second, fraction] as const;
  const times = new BigInt64Array(16);
  times.set([...time, ...time]);
  check(
    libc.utimensat(dirfd, cstr(path), times, AT.AT_SYMLINK_NOFOLLOW),
    () => `utimensat(${at(dirfd)}, ${quote(path)}, ${nanoseconds}ns, AT_SYMLINK_NOFOLLOW)`,
  );
}

/** Wraps `ftruncate(2)`. @throws {SyscallError} If refused. */
export function ftruncate(fd: number, length: number): void {
  retry(() => libc.ftruncate(fd, BigInt(length)), () => `ftruncate(${fd}, ${length})`);
}

/**
 * Wraps `copy_file_range(2)` from and to where the descriptors stand; may copy less, 0 at the end.
 *
 * @throws {SyscallError} If refused.
 */
export function copyFileRange(from: number, to: number, length: number): number {
  return retry(
    () => libc.copy_file_range(from, null, to, null, BigInt(length), 0),
    () => `copy_file_range(${from}, NULL, ${to}, NULL, ${length}, 0)`,
  );
}

/** Wraps `lseek(2)` and gives the new offset. @throws {SyscallError} If refused, ENXIO for no data. */
export function seek(fd: number, offset: number, whence: number): number {
  return check(
    libc.lseek(fd, BigInt(offset), whence),
    () => `lseek(${fd}, ${offset}, ${flagNames(SEEK, whence)})`,
  );
}

/** Wraps `syncfs(2)`: writes out the file system that a descriptor lies on. @throws {SyscallError} */
export function syncfs(fd: number): void {
  check(libc.syncfs(fd), () => `syncfs(${fd})`);
}

/** What `statfs(2)` tells of a file system. */
export interface FileSystemStatus {
  /** Its type (`MAGIC`). */
  readonly type: number;
  /** The bytes free for a user. */
  readonly freeBytes: number;
  /** The files that can still be made; null where no number bounds them. */
  readonly freeFiles: number | null;
}

/** Wraps `statfs(2)`. @throws {SyscallError} If refused. */
export function statfs(path: string): FileSystemStatus {
  const struct = new BigInt64Array(STATFS.size / 8);
  retry(() => libc.statfs(cstr(path), struct), () => `statfs(${quote(path)})`);
  return toStatus(struct);
}

/** Wraps `fstatfs(2)`. @throws {SyscallError} If refused. */
export function fstatfs(fd: number): FileSystemStatus {
  const struct = new BigInt64Array(STATFS.size / 8);
  retry(() => libc.fstatfs(fd, struct), () => `fstatfs(${fd})`);
  return toStatus(struct);
}

function toStatus(struct: BigInt64Array): FileSystemStatus {
  const field = (offset: number) => Number(struct[offset / 8]!);
  return {
    type: field(STATFS.f_type) >>> 0,
    freeBytes: field(STATFS.f_bsize) * field(STATFS.f_bavail),
    freeFiles: field(STATFS.f_files) === 0 ? null : field(STATFS.f_ffree),
  };
}

function at(dirfd: number): string {
  return dirfd === AT.AT_FDCWD ? "AT_FDCWD" : String(dirfd);
}

/** Descriptors that stay for long have numbers from here on, if that many are allowed. */
const FIRST_STORED = 256;

/**
 * The first few keep their numbers. The kernel's table of a process has room for 64; for more it is
 * made anew, which waits until all processors have let go of the old one: 10 to 40 ms.
 */
const FIRST_CROWDED = 48;

/**
 * Makes room for so many descriptors at once: a table that grows step by step waits at each.
 * Without effect if so many are not allowed.
 */
export function reserveDescriptors(count: number): void {
  try {
    const fd = openAt(AT.AT_FDCWD, "/", O.O_PATH | O.O_CLOEXEC);
    try {
      close(fcntl(fd, F.F_DUPFD_CLOEXEC, count - 1));
    } finally {
      close(fd);
    }
  } catch (error) {
    if (!isErrno(error, "EINVAL", "EMFILE")) throw error;
  }
}

/**
 * Gives a descriptor that stays open for long a high number: a process that we make copies none but the
 * low ones, and of those that are open only a few are.
 */
export function storeAway(fd: number): number {
  if (fd < FIRST_CROWDED || isStored(fd)) return fd;
  try {
    const stored = fcntl(fd, F.F_DUPFD_CLOEXEC, FIRST_STORED);
    close(fd);
    return stored;
  } catch (error) {
    if (!isErrno(error, "EINVAL", "EMFILE")) throw error;
    return fd;
  }
}

/** Whether a descriptor has a high number. */
export function isStored(fd: number): boolean {
  return fd >= FIRST_STORED;
}

/** Gives a copy with a low number, for a moment; those below are a program's own. */
export function fetch(fd: number): number {
  return fcntl(fd, F.F_DUPFD_CLOEXEC, 5);
}

/** Closes descriptors and goes on when one refuses: for the end of a life. */
export function closeQuietly(...fds: readonly number[]): void {
  for (const fd of fds) {
    try {
      close(fd);
    } catch (error) {
      if (!(error instanceof SyscallError)) throw error;
    }
  }
}
