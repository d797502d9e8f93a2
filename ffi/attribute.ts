/** Wrappers of the calls on extended attributes, one call each (xattr(7)). */
import { check, retry } from "./errno.ts";
import { libc } from "./libc.ts";
import { cstr, type CString, quote } from "./text.ts";

/** What the kernel gives at most: XATTR_LIST_MAX and XATTR_SIZE_MAX of linux/limits.h. */
const MOST_BYTES = 65536;

/** Wraps `fsetxattr(2)`. @throws {SyscallError} If refused. */
export function setXattr(fd: number, name: CString, value: Uint8Array<ArrayBuffer>): void {
  check(
    libc.fsetxattr(fd, cstr(name), value, BigInt(value.length), 0),
    () => `fsetxattr(${fd}, ${quote(name)}, …, ${value.length}, 0)`,
  );
}

/** Wraps `fgetxattr(2)`. @throws {SyscallError} If refused, ENODATA if there is none. */
export function getXattr(fd: number, name: CString): Uint8Array<ArrayBuffer> {
  const length = retry(
    () => libc.fgetxattr(fd, cstr(name), scratch, BigInt(MOST_BYTES)),
    () => `fgetxattr(${fd}, ${quote(name)}, …, ${MOST_BYTES})`,
  );
  return scratch.slice(0, length);
}

/** Wraps `flistxattr(2)`: names as text with one character a byte. @throws {SyscallError} */
export function listXattrs(fd: number): string[] {
  const length = retry(
    () => libc.flistxattr(fd, scratch, BigInt(MOST_BYTES)),
    () => `flistxattr(${fd}, …, ${MOST_BYTES})`,
  );
  if (length === 0) return [];
  return String.fromCharCode(...scratch.subarray(0, length - 1)).split("\0");
}

const scratch = new Uint8Array(MOST_BYTES);
