/**
 * Brings the index of an unpacked git repository up to date. To git all its files are new: their inodes
 * and times of change are others, and the first command of each sandbox would read them all.
 */
import { createHash, hash } from "node:crypto";
import {
  close,
  closeQuietly,
  type CString,
  type FileStatus,
  isErrno,
  lstatAt,
  O,
  openAt,
  openAt2,
  read,
  readLinkAt,
  RESOLVE,
  S,
  SEEK,
  seek,
  setTime,
  statFd,
} from "../../ffi/mod.ts";
import { toCString } from "./byte_text.ts";
import { contentBuffer, readContent, writeAll } from "./content.ts";
import {
  type Algorithm,
  distrust,
  type GitIndex,
  type IndexEntry,
  MAX_SECONDS,
  parseGitIndex,
  remember,
  seal,
} from "./git_index.ts";
import { splitPath } from "./path.ts";
import type { EntryRecord } from "./record.ts";

/** Where an index lies in its work tree. */
const INDEX = ".git/index";

/** Of a million files. */
const MAX_INDEX_BYTES = 128 * 1024 * 1024;

const NANOSECONDS = 1_000_000_000n;

/** What a path leads to that is not, or not to be seen as, what git has added. */
const LOST = ["ENOENT", "ENOTDIR", "ENXIO", "EINVAL", "ENAMETOOLONG"] as const;
const FORBIDDEN = ["ELOOP", "EXDEV", "EACCES", "EPERM"] as const;

const DIRECTORY = {
  flags: O.O_DIRECTORY | O.O_CLOEXEC,
  resolve: RESOLVE.RESOLVE_BENEATH | RESOLVE.RESOLVE_NO_SYMLINKS,
};

/** Says whether a path may be that of an index. */
export function isGitIndex(path: string): boolean {
  return path === INDEX || path.endsWith(`/${INDEX}`);
}

/**
 * Has an index know the files that hold exactly what was added, so that git need not read them; what
 * differs git is to read. Each file is read once. An index that cannot be read as one is left as it is.
 *
 * @param root A descriptor of the directory that was unpacked into.
 * @param path Of the index, beneath it.
 * @returns The index as it is now; null if nothing of it has changed.
 * @throws {SyscallError} If a file cannot be read or the index not be written.
 */
export function refreshGitIndex(root: number, path: string): EntryRecord | null {
  const top = path.slice(0, -INDEX.length);
  using opened = new DisposableStack();
  const own = (fd: number | null) => {
    if (fd !== null) opened.defer(() => closeQuietly(fd));
    return fd;
  };
  const tree = own(unlessAstray(() => openAt2(root, toCString(top === "" ? "." : top), DIRECTORY)));
  if (tree === null) return null;
  const how = { flags: O.O_RDWR | O.O_NONBLOCK | O.O_CLOEXEC, resolve: DIRECTORY.resolve };
  const file = own(unlessAstray(() => openAt2(tree, INDEX, how)));
  if (file === null) return null;
  const status = statFd(file);
  const isPlain = (status.mode & S.S_IFMT) === S.S_IFREG && status.links === 1;
  if (!isPlain || status.size > MAX_INDEX_BYTES) return null;
  const bytes = new Uint8Array(status.size);
  const index = parseGitIndex(bytes.subarray(0, read(file, bytes)));
  if (index === null) return null;
  const mtimeNs = update(index, tree, status.mtimeNs);
  if (mtimeNs === null) return null;
  seek(file, 0, SEEK.SEEK_SET);
  writeAll(file, index.bytes);
  setTime(file, Number(mtimeNs / NANOSECONDS), Number(mtimeNs % NANOSECONDS));
  const { uid, gid, size } = status;
  const content = hash("sha256", index.bytes);
  return { kind: "file", path, mode: status.mode & 0o7777, uid, gid, size, mtimeNs, content };
}

/**
 * Compares each file. git reads those again that changed when the index was written, or later: the
 * index becomes younger than all that are known to be as they were added. But never younger than now:
 * what a program changes from here on must count as later.
 *
 * @returns The time that the index gets, in nanoseconds; null if it has nothing to learn.
 */
function update(index: GitIndex, tree: number, mtimeNs: bigint): bigint | null {
  using files = new TrackedFiles(tree, index.algorithm);
  const absent: IndexEntry[] = [];
  let latest = -1n;
  for (const entry of index.entries) {
    const found = files.compare(entry);
    if (found === "absent") absent.push(entry);
    else if (found === "different") distrust(index, entry);
    else {
      remember(index, entry, found);
      if (found.mtimeNs > latest) latest = found.mtimeNs;
    }
  }
  if (absent.length === index.entries.length) return null;
  const second = mtimeNs / NANOSECONDS;
  const latestSecond = latest / NANOSECONDS;
  const isOlder = latestSecond >= second && latestSecond < BigInt(Math.floor(Date.now() / 1000));
  if (isOlder) {
    const mayBeMissed = ({ mtimeSeconds }: IndexEntry) => BigInt(mtimeSeconds) >= second;
    for (const entry of absent.filter(mayBeMissed)) distrust(index, entry);
  }
  seal(index);
  return isOlder ? (latestSecond + 1n) * NANOSECONDS : mtimeNs;
}

/** Files of a work tree, which hostile content may have made anything. */
class TrackedFiles implements Disposable {
  readonly #tree: number;
  readonly #algorithm: Algorithm;
  readonly #buffer = contentBuffer();
  /** Entries are sorted: the last directory is often the next one's. */
  #directory: { readonly path: string; readonly fd: number | null } = { path: "", fd: null };

  constructor(tree: number, algorithm: Algorithm) {
    this.#tree = tree;
    this.#algorithm = algorithm;
  }

  /** Gives the status of a file that is as it was added. */
  compare(entry: IndexEntry): FileStatus | "different" | "absent" {
    const { directory, leaf } = splitPath(entry.path);
    const parent = this.#open(directory);
    if (parent === null) return "absent";
    const name = toCString(leaf);
    const found = unlessAstray(() =>
      entry.kind === "symlink"
        ? this.#compareLink(parent, name, entry)
        : this.#compareFile(parent, name, entry)
    );
    return found ?? "absent";
  }

  #compareLink(parent: number, name: CString, { oid }: IndexEntry): FileStatus | "different" {
    const target = readLinkAt(parent, name);
    return this.#isNamed(oid, target.length, [target]) ? lstatAt(parent, name) : "different";
  }

  #compareFile(
    parent: number,
    name: CString,
    { kind, oid, size }: IndexEntry,
  ): FileStatus | "different" {
    const fd = openAt(parent, name, O.O_NOFOLLOW | O.O_NONBLOCK | O.O_CLOEXEC);
    try {
      const status = statFd(fd);
      const mode = S.S_IFREG | (kind === "executable" ? S.S_IXUSR : 0);
      if ((status.mode & (S.S_IFMT | S.S_IXUSR)) !== mode) return "different";
      if ((size !== 0 && size !== status.size) || !isHeld(status)) return "different";
      return this.#isNamed(oid, status.size, this.#read(fd, status)) ? status : "different";
    } finally {
      close(fd);
    }
  }

  #open(path: string): number | null {
    if (path === "") return this.#tree;
    if (path !== this.#directory.path) {
      this[Symbol.dispose]();
      const fd = unlessAstray(() => openAt2(this.#tree, toCString(path), DIRECTORY));
      this.#directory = { path, fd };
    }
    return this.#directory.fd;
  }

  #read(fd: number, { size }: FileStatus): Iterable<Uint8Array> {
    return readContent(fd, { size, extents: null }, this.#buffer);
  }

  /** Says whether git names an object so. */
  #isNamed(oid: Uint8Array, size: number, pieces: Iterable<Uint8Array>): boolean {
    const digest = createHash(this.#algorithm).update(`blob ${size}\0`);
    for (const piece of pieces) digest.update(piece);
    return digest.digest().equals(oid);
  }

  [Symbol.dispose](): void {
    if (this.#directory.fd !== null) closeQuietly(this.#directory.fd);
  }
}

/** Says whether an index can hold the numbers. */
function isHeld({ size, mtimeNs }: FileStatus): boolean {
  return size <= MAX_SECONDS && mtimeNs >= 0n && mtimeNs / NANOSECONDS < BigInt(MAX_SECONDS);
}

function unlessAstray<T>(look: () => T): T | null {
  try {
    return look();
  } catch (error) {
    if (isErrno(error, ...LOST, ...FORBIDDEN)) return null;
    throw error;
  }
}
