/** Our end of a shell's channel and terminal: plain calls on descriptors, none of which waits. */
import {
  closeQuietly,
  F,
  fcntl,
  flushInput,
  forget,
  ftruncate,
  isErrno,
  O,
  readNow,
  SavedMode,
  SEEK,
  seek,
  setWindowSize,
  signalForeground,
  TERMIOS,
  watchArrivals,
  write,
  writeNow,
} from "../../ffi/mod.ts";
import { messageOf, SetupError } from "../errors.ts";
import { parseBegun } from "./report.ts";
import type { RoomChannel } from "./room.ts";
import type { WindowSize } from "./terminal.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** A pty gives this much at most in one read. */
export const CHUNK_BYTES = 4096;

/** More cannot lie between a program that has ended and us: it would have waited for us. */
export const LAST_READS = 256;

/** The page of the text file that is there once and for all: a short command can always be written. */
const KEPT_BYTES = 4096;

const SIGINT = 2;

/** Bytes as they were written, no echo, no flow control; lines and signals as usual. */
const CLEAR = {
  input: TERMIOS.IXON | TERMIOS.IXOFF,
  output: TERMIOS.OPOST,
  local: TERMIOS.ECHO | TERMIOS.ECHOE | TERMIOS.ECHOK | TERMIOS.ECHONL | TERMIOS.ECHOCTL |
    TERMIOS.ECHOKE,
};
const SET = { input: TERMIOS.ICRNL, output: 0, local: TERMIOS.ICANON | TERMIOS.ISIG };

/** What is read lies here only until the call is over. */
const scratch = new Uint8Array(CHUNK_BYTES);

/** The descriptors, until they are closed. */
export class ChannelEnd {
  readonly #channel: RoomChannel;
  readonly #mode: SavedMode;
  #isOpen = true;

  /** Takes the channel over. */
  constructor(channel: RoomChannel, size: WindowSize) {
    this.#channel = channel;
    const { master, text } = channel;
    fcntl(master, F.F_SETFL, fcntl(master, F.F_GETFL) | O.O_NONBLOCK);
    watchArrivals(master);
    this.#mode = new SavedMode(master);
    this.#mode.change(CLEAR, SET);
    this.#mode.apply(master);
    this.resize(size);
    write(text, Uint8Array.of(0));
  }

  /** Whether the descriptors are ours. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Gives the terminal the mode it had, and throws away what nobody has read from it. */
  resetTerminal(): void {
    flushInput(this.#channel.master);
    this.#mode.apply(this.#channel.master);
  }

  /** Writes the text of a command. @throws {SetupError} If there is no room for it. */
  writeText(text: Bytes): void {
    const all = new Uint8Array(text.length + 1); // it ends with a NUL byte
    all.set(text);
    try {
      seek(this.#channel.text, 0, SEEK.SEEK_SET);
      for (let rest = all; rest.length > 0;) {
        rest = rest.subarray(write(this.#channel.text, rest));
      }
    } catch (error) {
      throw new SetupError("send the command", `Cannot send the command: ${messageOf(error)}`, {
        cause: error,
        remedy: `One of less than ${KEPT_BYTES} bytes can still make room in /run.`,
      });
    }
  }

  /** Gives back what the text of a long command took, once it has been read. */
  shrinkText(): void {
    if (this.#isOpen) ftruncate(this.#channel.text, KEPT_BYTES);
  }

  /** Reads which command the shell has begun last, and the last process made before; or null. */
  readBegun(): { readonly id: string; readonly lastPid: number } | null {
    if (!this.#isOpen) return null;
    seek(this.#channel.text, 0, SEEK.SEEK_SET);
    return parseBegun(scratch.subarray(0, readNow(this.#channel.text, scratch)));
  }

  /** Tells the shell that there is a command. */
  kick(line: Bytes): void {
    const { kick } = this.#channel;
    if (writeNow(kick, line) >= 0) return;
    // Filled by someone else: what is in there is no command.
    for (let i = 0; i < LAST_READS && readNow(kick, scratch) > 0; i++);
    writeNow(kick, line);
  }

  /** Reads from the report pipe: 0 if it is none, -1 if there is nothing. */
  readReport(buffer: Bytes): number {
    return readNow(this.#channel.report, buffer);
  }

  /** Reads what was printed, up to so many reads; false if nobody has the other side open. */
  drain(reads: number, onOutput: (bytes: Bytes) => void): boolean {
    for (let i = 0; i < reads && this.#isOpen; i++) {
      let count: number;
      try {
        count = readNow(this.#channel.master, scratch);
      } catch (error) {
        if (isErrno(error, "EIO")) return false;
        throw error;
      }
      if (count <= 0) return count < 0;
      onOutput(scratch.subarray(0, count));
    }
    return true;
  }

  /** Types as many bytes as are taken: -1 if none are now. */
  type(bytes: Bytes): number {
    try {
      return writeNow(this.#channel.master, bytes);
    } catch (error) {
      if (isErrno(error, "EIO")) return bytes.length; // nobody can read them
      throw error;
    }
  }

  /** Sends SIGINT to what is in the foreground of the terminal. */
  interrupt(): void {
    try {
      if (this.#isOpen) signalForeground(this.#channel.master, SIGINT);
    } catch (error) {
      if (!isErrno(error, "EIO", "ESRCH")) throw error;
    }
  }

  /** Tells programs of a new size (SIGWINCH). */
  resize({ rows, columns }: WindowSize): void {
    if (this.#isOpen) setWindowSize(this.#channel.master, rows, columns);
  }

  /** Closes what is open; whoever waits for it is told. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    closeChannel(this.#channel);
  }
}

/** Closes a channel's descriptors. */
export function closeChannel({ master, kick, report, text }: RoomChannel): void {
  for (const fd of [master, report]) forget(fd);
  closeQuietly(master, kick, report, text);
}
