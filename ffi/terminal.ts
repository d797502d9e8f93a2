/** Wrappers of the terminal's `ioctl(2)` requests, one call each. */
import { IOCTL, TERMIOS } from "./constant.ts";
import { check } from "./errno.ts";
import { TERMIOS_STRUCT, WINSIZE } from "./layout.ts";
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

/** How a terminal treats what is typed and printed (TCGETS, TCSETSF): bits of `TERMIOS`. */
export interface TerminalMode {
  readonly input: number;
  readonly output: number;
  readonly local: number;
}

/** A terminal's mode, to be set again and again. */
export class SavedMode {
  readonly #struct = new Uint8Array(TERMIOS_STRUCT.size);
  readonly #view = new DataView(this.#struct.buffer);

  /** Reads it from one side of a pty. @throws {SyscallError} */
  constructor(master: number) {
    ioctl(master, IOCTL.TCGETS, this.#struct, "TCGETS");
  }

  /** Changes what is saved: bits that are cleared, then bits that are set. */
  change(clear: TerminalMode, set: TerminalMode): void {
    this.#changeField(TERMIOS_STRUCT.c_iflag, clear.input, set.input);
    this.#changeField(TERMIOS_STRUCT.c_oflag, clear.output, set.output);
    this.#changeField(TERMIOS_STRUCT.c_lflag, clear.local, set.local);
  }

  /** Sets a pty's other side to it, and throws away what can be read there (TCSETSF). @throws {SyscallError} */
  apply(master: number): void {
    ioctl(master, IOCTL.TCSETSF, this.#struct, "TCSETSF");
  }

  #changeField(offset: number, clear: number, set: number): void {
    const value = this.#view.getUint32(offset, true);
    this.#view.setUint32(offset, (value & ~clear) | set, true);
  }
}

/** Throws away what is on its way to the other side of a pty (TCFLSH). @throws {SyscallError} */
export function flushInput(master: number): void {
  ioctlValue(master, IOCTL.TCFLSH, TERMIOS.TCOFLUSH, "TCFLSH, TCOFLUSH");
}

/**
 * Sends SIGINT, SIGQUIT or SIGTSTP to the programs in the foreground of a pty, as its keys do in any
 * mode (TIOCSIG).
 *
 * @throws {SyscallError} If refused.
 */
export function signalForeground(master: number, signal: number): void {
  ioctlValue(master, IOCTL.TIOCSIG, signal, `TIOCSIG, ${signal}`);
}

const count = new Int32Array(32); // past 64 bytes it lies outside of the heap that moves

const FIONREAD = BigInt(IOCTL.FIONREAD);

/**
 * How many bytes can be read at once (FIONREAD), also of a pipe; 0 of what cannot be asked. A terminal is
 * not asked whether more are on their way, as read(2) and poll(2) ask, and wait for the answer.
 */
export function unreadBytes(fd: number): number {
  return libc.ioctl(fd, FIONREAD, count) < 0 ? 0 : count[0]!;
}

function ioctlValue(fd: number, request: number, value: number, shown: string): void {
  check(libc.ioctl_value(fd, BigInt(request), BigInt(value)), () => `ioctl(${fd}, ${shown})`);
}

function ioctl(fd: number, request: number, argument: BufferSource, name: string): void {
  check(libc.ioctl(fd, BigInt(request), argument), () => `ioctl(${fd}, ${name})`);
}
