/** Wrappers of the calls on what is known of a file beside its bytes, one call each. */
import { AT, STATX_MASK } from "./constant.ts";
import { check, retry } from "./errno.ts";
import { STATX } from "./layout.ts";
import { libc } from "./libc.ts";
import { NR } from "./syscall_number.ts";
import { cstr, type CString, quote } from "./text.ts";

/** What `statx(2)` tells of a file. */
export interface FileStatus {
  /** The device it lies on, `major:minor`. */
  readonly device: string;
  /** Its inode. */
  readonly inode: bigint;
  /** Its type and permissions. */
  readonly mode: number;
  /** Which device it stands for, `major:minor`; `0:0` if it is none. */
  readonly special: string;
  /** The number of its names. */
  readonly links: number;
  /** Its owner. */
  readonly uid: number;
  /** Its group. */
  readonly gid: number;
  /** Its length in bytes. */
  readonly size: number;
  /** The bytes it takes on the disk. */
  readonly diskBytes: number;
  /** When its bytes changed, in nanoseconds. */
  readonly mtimeNs: bigint;
  /** When anything of it changed, in nanoseconds. */
  readonly ctimeNs: bigint;
}

/** Wraps `statx(2)` of an open descriptor. @throws {SyscallError} If refused. */
export function statFd(fd: number): FileStatus {
  return statx(fd, "", AT.AT_EMPTY_PATH);
}

/** Wraps `statx(2)` without following a last symbolic link. @throws {SyscallError} If refused. */
export function lstatAt(dirfd: number, path: CString): FileStatus {
  return statx(dirfd, path, AT.AT_SYMLINK_NOFOLLOW);
}

/** Wraps `statx(2)`, following links. @throws {SyscallError} If refused. */
export function statAt(dirfd: number, path: CString): FileStatus {
  return statx(dirfd, path, 0);
}

/** Wraps `fchown(2)`. @throws {SyscallError} If refused. */
export function fchown(fd: number, uid: number, gid: number): void {
  check(libc.fchown(fd, uid, gid), () => `fchown(${fd}, ${uid}, ${gid})`);
}

/** Wraps `futimens(2)`: both times, as seconds and nanoseconds. @throws {SyscallError} If refused. */
export function setTime(fd: number, seconds: number, nanoseconds: number): void {
  const times = new BigInt64Array(16);
  times[0] = times[2] = BigInt(seconds);
  times[1] = times[3] = BigInt(nanoseconds);
  check(libc.futimens(fd, times), () => `futimens(${fd}, {${seconds}, ${nanoseconds}})`);
}

function statx(dirfd: number, path: CString, flags: number): FileStatus {
  const struct = new Uint8Array(STATX.size);
  const name = cstr(path);
  const mask = BigInt(STATX_MASK.STATX_BASIC_STATS);
  retry(
    () => libc.statx(BigInt(NR.statx), BigInt(dirfd), name, BigInt(flags), mask, struct),
    () => `statx(${dirfd}, ${quote(path)}, ${flags}, STATX_BASIC_STATS, …)`,
  );
  return parseStatus(struct);
}

/** Reads the structure that `statx(2)` fills. */
export function parseStatus(struct: Uint8Array<ArrayBuffer>): FileStatus {
  const view = new DataView(struct.buffer, struct.byteOffset, struct.byteLength);
  const uint32 = (offset: number) => view.getUint32(offset, true);
  const nanoseconds = (offset: number) =>
    view.getBigInt64(offset, true) * 1_000_000_000n + BigInt(uint32(offset + 8));
  return {
    device: `${uint32(STATX.stx_dev_major)}:${uint32(STATX.stx_dev_minor)}`,
    inode: view.getBigUint64(STATX.stx_ino, true),
    special: `${uint32(STATX.stx_rdev_major)}:${uint32(STATX.stx_rdev_minor)}`,
    mode: view.getUint16(STATX.stx_mode, true),
    links: uint32(STATX.stx_nlink),
    uid: uint32(STATX.stx_uid),
    gid: uint32(STATX.stx_gid),
    size: Number(view.getBigUint64(STATX.stx_size, true)),
    diskBytes: Number(view.getBigUint64(STATX.stx_blocks, true)) * 512,
    mtimeNs: nanoseconds(STATX.stx_mtime),
    ctimeNs: nanoseconds(STATX.stx_ctime),
  };
}
