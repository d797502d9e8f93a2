/** A layer compared with the list of what was unpacked into it. */
import { createHash } from "node:crypto";
import { AT, close, type CString, isErrno, lstatAt, O, openAt, read, S } from "../../ffi/mod.ts";
import { parseEntryList, type ReadEntry } from "./entry_list.ts";

/** What is wrong with one thing in a layer. */
export interface Fault {
  /** Beneath the layer's path; "." is the directory there. */
  readonly path: string;
  /** What is wrong: `its content has changed`. */
  readonly state: string;
}

/** The type that each kind of entry has on the disk. */
const TYPES: Readonly<Record<string, number>> = {
  file: S.S_IFREG,
  link: S.S_IFREG,
  directory: S.S_IFDIR,
  symlink: S.S_IFLNK,
  fifo: S.S_IFIFO,
  whiteout: S.S_IFCHR,
  mark: S.S_IFCHR,
};

const CHUNK_BYTES = 1 << 20;

/** Times that every file system can hold, in nanoseconds. */
const TIME_RANGE = [-(2n ** 31n) * 1_000_000_000n, 2n ** 33n * 1_000_000_000n] as const;

/**
 * Compares a tree with the list of its entries: type, mode, owner, size, content, target and time.
 *
 * @param root The directory that the archive was unpacked into.
 * @param list The bytes of the list.
 * @param onProgress Called with the bytes that were hashed.
 */
export function* findFaults(
  root: string,
  list: Uint8Array,
  onProgress: (bytes: number) => void,
): Generator<Fault> {
  let entries: Map<string, ReadEntry>;
  try {
    entries = parseEntryList(list);
  } catch {
    yield { path: ".", state: "the list of its files is damaged" };
    return;
  }
  const rootFd = openAt(AT.AT_FDCWD, root, O.O_DIRECTORY | O.O_CLOEXEC);
  try {
    let hashed = 0;
    for (const entry of entries.values()) {
      const state = compare(rootFd, entry, entries);
      if (state !== null) yield { path: show(entry.path), state };
      hashed += entry.kind === "file" ? entry.size : 0;
      onProgress(hashed);
    }
  } finally {
    close(rootFd);
  }
  yield* findStrangers(root, entries);
}

function compare(
  root: number,
  entry: ReadEntry,
  entries: ReadonlyMap<string, ReadEntry>,
): string | null {
  const { kind, path, content } = entry;
  const name = toBytes(path === "" ? "." : path);
  try {
    const found = lstatAt(root, name);
    const type = found.mode & S.S_IFMT;
    if (kind === "mark" && type === S.S_IFDIR) return null; // a directory that the layer has itself
    if (type !== TYPES[kind]) return "it is of another type";
    if (type === S.S_IFCHR) return null;
    if (kind === "link") {
      if (entries.get(content)?.order! > entry.order) return null; // it led to one that was replaced
      const first = lstatAt(root, toBytes(content));
      return first.inode === found.inode ? null : `it is no link to ${show(content)} any more`;
    }
    if (kind === "symlink") {
      const target = readTarget(root, path);
      if (target !== null && target !== fromBytes(content)) return "it leads elsewhere";
    } else if ((found.mode & 0o7777) !== entry.mode) {
      return `its mode is ${(found.mode & 0o7777).toString(8)}, not ${entry.mode.toString(8)}`;
    }
    if (found.uid !== entry.uid || found.gid !== entry.gid) {
      return `its owner is ${found.uid}:${found.gid}, not ${entry.uid}:${entry.gid}`;
    }
    if (kind === "file") {
      if (found.size !== entry.size) return `it has ${found.size} bytes, not ${entry.size}`;
      if (content !== "" && hashFile(root, name) !== content) return "its content has changed";
    }
    const [first, last] = TIME_RANGE;
    const isHeld = entry.mtimeNs >= first && entry.mtimeNs < last;
    return isHeld && found.mtimeNs !== entry.mtimeNs ? "its time has changed" : null;
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return "it is missing";
    if (isErrno(error, "EIO", "EBADMSG")) return `it cannot be read (${error.message})`;
    throw error;
  }
}

function hashFile(root: number, name: CString): string {
  const fd = openAt(root, name, O.O_NOFOLLOW | O.O_CLOEXEC);
  try {
    const hash = createHash("sha256");
    const buffer = new Uint8Array(CHUNK_BYTES);
    for (let n = read(fd, buffer); n > 0; n = read(fd, buffer)) hash.update(buffer.subarray(0, n));
    return hash.digest("hex");
  } finally {
    close(fd);
  }
}

/** Looks for names that no entry speaks of. */
function* findStrangers(root: string, entries: ReadonlyMap<string, ReadEntry>): Generator<Fault> {
  const known = new Set(entries.keys());
  for (const path of entries.keys()) {
    for (let cut = path.lastIndexOf("/"); cut > 0; cut = path.lastIndexOf("/", cut - 1)) {
      known.add(path.slice(0, cut)); // directories that no entry speaks of
    }
  }
  yield* visit("");

  function* visit(dir: string): Generator<Fault> {
    for (const { name, isDirectory } of Deno.readDirSync(`${root}/${fromBytes(dir)}`)) {
      if (name.includes("\ufffd")) continue; // its bytes are not to be had from here
      const path = dir === "" ? toByteText(name) : `${dir}/${toByteText(name)}`;
      if (!known.has(path)) yield { path: show(path), state: "it was not in the archive" };
      else if (isDirectory) yield* visit(path);
    }
  }
}

function readTarget(root: number, path: string): string | null {
  try {
    return Deno.readLinkSync(`/proc/self/fd/${root}/${fromBytes(path)}`);
  } catch {
    return null; // a name, or a target, that is no UTF-8
  }
}

function show(path: string): string {
  return path === "" ? "." : fromBytes(path);
}

function toBytes(path: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(path, (character) => character.charCodeAt(0));
}

function fromBytes(path: string): string {
  return /[\x80-\xff]/.test(path) ? new TextDecoder().decode(toBytes(path)) : path;
}

function toByteText(text: string): string {
  return String.fromCharCode(...new TextEncoder().encode(text));
}
