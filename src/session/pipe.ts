/** Pipes between us and a program: read and written without blocking the main thread. */
import {
  AT,
  closeQuietly,
  F,
  fchmod,
  fcntl,
  forget,
  hungUp,
  isErrno,
  O,
  openAt,
  pipe,
  readable,
  readNow,
  storeAway,
  writable,
  writeNow,
} from "../../ffi/mod.ts";

/** A pipe holds this much at most, and one read takes it. */
const CHUNK_BYTES = 64 * 1024;

/** Buffers that nobody uses: who waits for data has none. */
const spare: Uint8Array<ArrayBuffer>[] = [];
const SPARE_BUFFERS = 16;

/** The end that we read, of a pipe or a pty; it is closed at the end of the data. */
export class PipeReader {
  readonly #fd: number;
  #isOpen = true;

  /** Takes the descriptor over. */
  constructor(fd: number) {
    this.#fd = storeAway(fd);
    setNonblocking(this.#fd);
  }

  /** Gives what comes, as it comes; each chunk is the reader's until it asks for the next. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    try {
      yield* this.#readUntil(null);
    } finally {
      this.close();
    }
  }

  /**
   * Gives what comes until `ended` resolves, and what is there by then: whoever holds the other end
   * open keeps nobody waiting. It is not closed.
   */
  until(ended: Promise<unknown>): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    return this.#readUntil(ended);
  }

  async *#readUntil(ended: Promise<unknown> | null): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    let isOver = false;
    const finish = () => {
      isOver = true;
      if (this.#isOpen) forget(this.#fd);
    };
    ended?.then(finish, finish);
    while (this.#isOpen) {
      const isLast = isOver;
      const buffer = spare.pop() ?? new Uint8Array(CHUNK_BYTES);
      try {
        const count = this.#readSome(buffer);
        if (count === 0 || (count < 0 && isLast)) return;
        if (count > 0) {
          yield buffer.subarray(0, count);
          continue;
        }
      } finally {
        if (spare.length < SPARE_BUFFERS) spare.push(buffer);
      }
      if (!isOver) await readable(this.#fd);
    }
  }

  /** Whether the descriptor is still ours. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Closes it: whoever writes to it is told so (SIGPIPE, EPIPE). */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    forget(this.#fd);
    closeQuietly(this.#fd);
  }

  /** 0 at the end, -1 if there is nothing yet. */
  #readSome(buffer: Uint8Array<ArrayBuffer>): number {
    try {
      return readNow(this.#fd, buffer);
    } catch (error) {
      // The other side of a pty has been closed, or a peer is gone.
      if (isErrno(error, "EIO", "ECONNRESET")) return 0;
      throw error;
    }
  }
}

/** The end that we write, of a pipe or a pty. */
export class PipeWriter {
  readonly #fd: number;
  #isOpen = true;
  #last: Promise<unknown> = Promise.resolve();

  /** Takes the descriptor over. */
  constructor(fd: number) {
    this.#fd = storeAway(fd);
    setNonblocking(this.#fd);
  }

  /** Writes all bytes, after those of calls before; false if nobody reads any more. */
  write(bytes: Uint8Array<ArrayBuffer>): Promise<boolean> {
    const written = this.#last.then(() => this.#writeAll(bytes));
    this.#last = written.catch(() => {});
    return written;
  }

  async #writeAll(bytes: Uint8Array<ArrayBuffer>): Promise<boolean> {
    let rest = bytes;
    while (this.#isOpen && rest.length > 0) {
      try {
        const count = writeNow(this.#fd, rest);
        if (count < 0) await writable(this.#fd);
        else rest = rest.subarray(count);
      } catch (error) {
        if (isErrno(error, "EPIPE", "EIO", "ECONNRESET")) return false;
        throw error;
      }
    }
    return this.#isOpen;
  }

  /** Closes it: whoever reads finds the end. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    forget(this.#fd);
    closeQuietly(this.#fd);
  }
}

/** A pipe whose other end is a program's stdout or stderr. */
export function outputPipe(): { readonly ours: PipeReader; readonly theirs: number } {
  const { reader, writer } = openPipe();
  return { ours: new PipeReader(reader), theirs: writer };
}

/** A pipe whose other end is a program's stdin. */
export function inputPipe(): { readonly ours: PipeWriter; readonly theirs: number } {
  const { reader, writer } = openPipe();
  return { ours: new PipeWriter(writer), theirs: reader };
}

/** Gives another descriptor of the same end. */
export function duplicate(fd: number): number {
  return fcntl(fd, F.F_DUPFD_CLOEXEC, 3);
}

/** Whoever the program runs as, it may open its end again, as /dev/stdout. */
function openPipe(): { readonly reader: number; readonly writer: number } {
  const ends = pipe(O.O_CLOEXEC);
  fchmod(ends.writer, 0o666);
  return ends;
}

function setNonblocking(fd: number): void {
  fcntl(fd, F.F_SETFL, fcntl(fd, F.F_GETFL) | O.O_NONBLOCK);
}

/** Opens a file for a program to read; the descriptor is to be given to it. */
export function openInput(path: string): number {
  return openAt(AT.AT_FDCWD, path, O.O_CLOEXEC);
}

/** Resolves with true once nobody reads our stdout any more; with false if that cannot be told. */
export function stdoutUnread(): Promise<boolean> {
  return hungUp(1);
}
