/** Wrappers of the terminal's `ioctl(2)` requests, one call each. */
import { IOCTL } from "./constant.ts";
import { check } from "./errno.ts";
import { WINSIZE } from "./layout.ts";
import { libc } from "./libc.ts";

/** Unlocks the other side of a pty (TIOCSPTLCK). @throws {SyscallError} If it is no pty. */
export function unlockPty(master: number): void {
  ioctl(master, IOCTL.TIOCSPTLCK, new Int32Array(1), "TIOCSPTLCK");
}

/** Gives the number of the other side of a pty: N of /dev/pts/N. @throws {SyscallError} */
export function ptyNumber(master: number): number {
  const number = new Int32Array(1);
  ioctl(master, IOCTL.TIOCGPTN, number, "TIOCGPTN");
  return number[0]!;
}

/** Sets a terminal's size in characters (TIOCSWINSZ). @throws {SyscallError} */
export function setWindowSize(fd: number, rows: number, columns: number): void {
  const size = new Uint16Array(WINSIZE.size / 2);
  size[WINSIZE.ws_row / 2] = rows;
  size[WINSIZE.ws_col / 2] = columns;
  ioctl(fd, IOCTL.TIOCSWINSZ, size, "TIOCSWINSZ");
}

function ioctl(fd: number, request: number, argument: BufferSource, name: string): void {
  check(libc.ioctl(fd, BigInt(request), argument), () => `ioctl(${fd}, ${name})`);
}
