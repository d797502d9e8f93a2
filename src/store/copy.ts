/** What a sandbox wrote copied as it is: marks of overlayfs, owners, links and holes among it. */
import {
  AT,
  close,
  closeQuietly,
  copyFileRange,
  fchmod,
  fchmodAt,
  fchown,
  type FileStatus,
  ftruncate,
  getXattr,
  isErrno,
  lchownAt,
  linkAt,
  listXattrs,
  lstatAt,
  mkdirAt,
  mknodAt,
  O,
  openAt,
  readDirectory,
  readLinkAt,
  S,
  SEEK,
  seek,
  setTime,
  setTimeAt,
  setXattr,
  statFd,
  symlinkAt,
} from "../../ffi/mod.ts";
import { HostError } from "../errors.ts";
import { delay } from "@std/async/delay";

/** What was copied. */
export interface Copied {
  /** Without the directory itself. */
  readonly entries: number;
  readonly bytes: number;
}

/** Directories deeper than this are not copied: each holds two descriptors. */
const MAX_DEPTH = 1024;

/** So long others wait for us at most. */
const SLICE_MS = 4;

/** So much is copied at once. */
const PIECE_BYTES = 1 << 20;

const DIRECTORY = O.O_DIRECTORY | O.O_NOFOLLOW | O.O_CLOEXEC;
const SOURCE = O.O_NOFOLLOW | O.O_NONBLOCK | O.O_NOCTTY | O.O_CLOEXEC;
const TARGET = O.O_WRONLY | O.O_CREAT | O.O_EXCL | O.O_NOFOLLOW | O.O_CLOEXEC;

/**
 * What overlayfs notes of the layers below, by file handle and number of names: in a layer that is
 * itself below, it would be wrong. What hides names stays.
 */
const OF_THE_ORIGIN = /^(?:user|trusted)\.overlay\.(?:origin|impure|nlink|uuid|upper)$/;

/** What belongs to the system that a file lies on. */
const OF_THE_SYSTEM = /^security\.(?!capability$)|^trusted\.(?!overlay\.)/;

/**
 * Copies what lies in a directory into an empty one, which gets its owner, mode and time too. Nothing
 * may write to it meanwhile.
 *
 * @throws {HostError} If it lies too deep.
 * @throws {SyscallError} If the file system refuses.
 */
export async function copyTree(from: string, to: string): Promise<Copied> {
  return await new Copy(from, to).run();
}

/** One copy, in slices between which others go on. */
class Copy {
  readonly #from: string;
  readonly #to: string;
  /** The first name of files with several, by inode. */
  readonly #links = new Map<string, string>();
  #root = -1;
  #entries = 0;
  #bytes = 0;
  #until = performance.now() + SLICE_MS;

  constructor(from: string, to: string) {
    this.#from = from;
    this.#to = to;
  }

  async run(): Promise<Copied> {
    const from = openAt(AT.AT_FDCWD, this.#from, DIRECTORY);
    try {
      this.#root = openAt(AT.AT_FDCWD, this.#to, DIRECTORY);
      await this.#directory(from, this.#root, "", 0);
    } finally {
      closeQuietly(from, this.#root);
    }
    return { entries: this.#entries, bytes: this.#bytes };
  }

  async #directory(from: number, to: number, path: string, depth: number): Promise<void> {
    if (depth > MAX_DEPTH) {
      throw new HostError(
        `Cannot copy what was written: it lies over ${MAX_DEPTH} directories deep`,
      );
    }
    const status = statFd(from);
    for (let found = readDirectory(from); found !== null; found = readDirectory(from)) {
      for (const { name } of found) {
        this.#entries++;
        const child = path === "" ? name : `${path}/${name}`;
        await this.#entry(from, to, { name: toBytes(name), path: child, depth: depth + 1 });
        await this.#rest();
      }
    }
    describe(from, to, status);
  }

  async #entry(
    from: number,
    to: number,
    { name, path, depth }: {
      readonly name: Uint8Array<ArrayBuffer>;
      readonly path: string;
      readonly depth: number;
    },
  ): Promise<void> {
    const status = lstatAt(from, name);
    const type = status.mode & S.S_IFMT;
    if (type === S.S_IFDIR) {
      mkdirAt(to, name, 0o700);
      await both(
        openAt(from, name, DIRECTORY),
        () => openAt(to, name, DIRECTORY),
        (a, b) => this.#directory(a, b, path, depth),
      );
      return;
    }
    if (status.links > 1) {
      const key = `${status.device} ${status.inode}`;
      const first = this.#links.get(key);
      if (first !== undefined) {
        linkAt({ dirfd: this.#root, path: toBytes(first) }, { dirfd: to, path: name });
        return;
      }
      this.#links.set(key, path);
    }
    if (type === S.S_IFREG) {
      await both(
        openAt(from, name, SOURCE),
        () => openAt(to, name, TARGET, 0o600),
        async (a, b) => {
          await this.#content(a, b, status);
          describe(a, b, status);
        },
      );
      return;
    }
    if (type === S.S_IFLNK) symlinkAt(readLinkAt(from, name), to, name);
    else mknodAt(to, name, status.mode & (S.S_IFMT | 0o777), deviceOf(status));
    lchownAt(to, name, status.uid, status.gid);
    if (type !== S.S_IFLNK && type !== S.S_IFCHR) fchmodAt(to, name, status.mode & 0o7777);
    setTimeAt(to, name, status.mtimeNs);
  }

  /** Holes stay holes; a file system that can shares the blocks. */
  async #content(from: number, to: number, { size }: FileStatus): Promise<void> {
    for (let at = 0; at < size;) {
      const start = findData(from, at);
      if (start === null || start >= size) break;
      const end = Math.min(seek(from, start, SEEK.SEEK_HOLE), size);
      seek(from, start, SEEK.SEEK_SET);
      seek(to, start, SEEK.SEEK_SET);
      for (at = start; at < end;) {
        const count = copyFileRange(from, to, Math.min(PIECE_BYTES, end - at));
        if (count === 0) break;
        at += count;
        this.#bytes += count;
        await this.#rest();
      }
      if (at < end) break; // it is shorter than it was
    }
    ftruncate(to, size);
  }

  async #rest(): Promise<void> {
    if (performance.now() <= this.#until) return;
    await delay(0);
    this.#until = performance.now() + SLICE_MS;
  }
}

/** Does something with two descriptors, and closes them. */
async function both(
  a: number,
  open: () => number,
  work: (a: number, b: number) => Promise<void>,
): Promise<void> {
  let b = -1;
  try {
    b = open();
    await work(a, b);
  } finally {
    close(a);
    if (b >= 0) close(b);
  }
}

/** A new owner clears capabilities and special bits, and a mode may forbid attributes. */
function describe(from: number, to: number, { uid, gid, mode, mtimeNs }: FileStatus): void {
  fchown(to, uid, gid);
  for (const name of listXattrs(from)) {
    if (OF_THE_ORIGIN.test(name) || OF_THE_SYSTEM.test(name)) continue;
    const bytes = toBytes(name);
    setXattr(to, bytes, getXattr(from, bytes));
  }
  fchmod(to, mode & 0o7777);
  const second = 1_000_000_000n;
  const nanoseconds = ((mtimeNs % second) + second) % second;
  setTime(to, Number((mtimeNs - nanoseconds) / second), Number(nanoseconds));
}

/** The only device that a sandbox can make is the one by which overlayfs hides a name. */
function deviceOf({ mode, special }: FileStatus): number {
  const type = mode & S.S_IFMT;
  if ((type === S.S_IFCHR || type === S.S_IFBLK) && special !== "0:0") {
    throw new HostError(`Cannot copy what was written: it holds the device ${special}`);
  }
  return 0;
}

function findData(fd: number, at: number): number | null {
  try {
    return seek(fd, at, SEEK.SEEK_DATA);
  } catch (error) {
    if (!isErrno(error, "ENXIO")) throw error;
    return null;
  }
}

/** A name is text of one character a byte. */
function toBytes(name: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(name, (character) => character.charCodeAt(0));
}
