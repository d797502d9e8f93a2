/** Wrappers of the calls that read what directories and links hold, one call each. */
import { DT } from "./constant.ts";
import { attempt, check, ERRNO } from "./errno.ts";
import { DIRENT64 } from "./layout.ts";
import { libc } from "./libc.ts";
import { cstr, type CString, quote } from "./text.ts";

const scratch = new Uint8Array(65536);
const view = new DataView(scratch.buffer);

/** What a directory holds. */
export interface DirectoryEntry {
  /** Text of one character a byte. */
  readonly name: string;
  /** Whether it is a directory; null where the file system does not say. */
  readonly isDirectory: boolean | null;
}

/**
 * Wraps `getdents64(2)`: the next entries of a directory, without `.` and `..`; null at the end. One that
 * was removed since it was opened holds nothing more.
 *
 * @throws {SyscallError} If refused.
 */
export function readDirectory(fd: number): DirectoryEntry[] | null {
  const length = attempt(
    () => libc.getdents64(fd, scratch, BigInt(scratch.length)),
    [ERRNO.ENOENT],
    () => `getdents64(${fd}, …, ${scratch.length})`,
  );
  if (length <= 0) return null;
  const entries: DirectoryEntry[] = [];
  for (let at = 0; at < length; at += view.getUint16(at + DIRENT64.d_reclen, true)) {
    const start = at + DIRENT64.d_name;
    const name = byteText(scratch.subarray(start, scratch.indexOf(0, start)));
    if (name === "." || name === "..") continue;
    const type = scratch[at + DIRENT64.d_type]!;
    entries.push({ name, isDirectory: type === DT.DT_UNKNOWN ? null : type === DT.DT_DIR });
  }
  return entries;
}

/** Wraps `readlinkat(2)`: the target's bytes. @throws {SyscallError} If refused. */
export function readLinkAt(dirfd: number, path: CString): Uint8Array<ArrayBuffer> {
  const name = cstr(path);
  const length = check(
    libc.readlinkat(dirfd, name, scratch, BigInt(scratch.length)),
    () => `readlinkat(${dirfd}, ${quote(path)}, …, ${scratch.length})`,
  );
  return scratch.slice(0, length);
}

function byteText(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes);
}
