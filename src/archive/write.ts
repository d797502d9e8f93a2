/** Entries in, files beneath a root out: every call relative to a descriptor, none through a link. */
import {
  AT,
  close,
  closeQuietly,
  fchmod,
  fchmodAt,
  fchown,
  isErrno,
  lchownAt,
  linkAt,
  mkdirAt,
  mknodAt,
  O,
  openAt,
  S,
  setTime,
  setTimeAt,
  symlinkAt,
  unlinkAt,
  write,
} from "../../ffi/mod.ts";
import { Directories, IMPLIED_MODE } from "./directory.ts";
import type { Entry, EntrySink } from "./entry.ts";
import type { UnpackLimits } from "./limit.ts";
import { decideOwner, type OwnerPolicy } from "./owner.ts";
import { parsePath, splitPath, toCString } from "./path.ts";
import { type Place, showName } from "./place.ts";

const NEW_FILE = O.O_WRONLY | O.O_CREAT | O.O_EXCL | O.O_NOFOLLOW | O.O_CLOEXEC;

/** What was unpacked. */
export interface Counts {
  entries: number;
  /** The bytes of all files. */
  bytes: number;
  files: number;
  directories: number;
  symlinks: number;
  links: number;
  fifos: number;
  /** Entries whose owner or group could not be held here. */
  ownersLost: number;
  /** Extended attributes that were not kept. */
  xattrsLost: number;
}

/** Writes entries beneath a root; directories get mode and time at the end. */
export class TreeWriter implements EntrySink, Disposable {
  readonly counts: Counts = {
    entries: 0,
    bytes: 0,
    files: 0,
    directories: 0,
    symlinks: 0,
    links: 0,
    fifos: 0,
    ownersLost: 0,
    xattrsLost: 0,
  };
  readonly #place: Place;
  readonly #limits: UnpackLimits;
  readonly #policy: OwnerPolicy;
  readonly #directories: Directories;
  /** Directories whose mode and time wait until all is inside, by path. */
  readonly #waiting = new Map<string, Entry>();
  #file = -1;
  #entry: Entry | null = null;

  constructor(
    root: number,
    options: {
      readonly place: Place;
      readonly limits: UnpackLimits;
      readonly policy: OwnerPolicy;
    },
  ) {
    this.#place = options.place;
    this.#limits = options.limits;
    this.#policy = options.policy;
    this.#directories = new Directories(root, options.place);
  }

  /** Makes what an entry names; in place of what had its name before, as GNU tar does. */
  begin(entry: Entry): void {
    const counts = this.counts;
    if (++counts.entries > this.#limits.maxEntries) {
      throw this.#place.refuse(`is one more than the ${this.#limits.maxEntries} that are allowed`);
    }
    counts.xattrsLost += entry.xattrs;
    const path = this.#parse(entry.name, "name");
    if (path === "" && entry.kind !== "directory") throw this.#place.refuse("replaces the root");
    switch (entry.kind) {
      case "file":
        this.#file = this.#create(path, (parent, leaf) => openAt(parent, leaf, NEW_FILE, 0o600));
        this.#entry = entry;
        counts.files++;
        break;
      case "directory":
        this.#makeDirectory(path, entry);
        counts.directories++;
        break;
      case "symlink":
        this.#create(path, (parent, leaf) => symlinkAt(entry.target, parent, leaf));
        this.#describe(path, entry);
        counts.symlinks++;
        break;
      case "link":
        this.#link(path, entry);
        counts.links++;
        break;
      case "fifo":
        this.#create(path, (parent, leaf) => mknodAt(parent, leaf, S.S_IFIFO | 0o600));
        this.#describe(path, entry);
        counts.fifos++;
        break;
    }
  }

  /** Writes some of the file's bytes. */
  data(bytes: Uint8Array<ArrayBuffer>): void {
    this.counts.bytes += bytes.length;
    for (let at = 0; at < bytes.length;) {
      at += write(this.#file, at === 0 ? bytes : bytes.subarray(at));
    }
  }

  /** Ends the file: owner, then mode, which a change of owner would clear, then time. */
  end(): void {
    const entry = this.#entry;
    if (entry === null) return;
    this.#describeOpen(this.#file, entry);
    this.#entry = null;
    const fd = this.#file;
    this.#file = -1;
    close(fd);
  }

  /** Gives directories their modes and times, the deepest first: they may forbid what is inside. */
  finish(): void {
    const depth = (path: string) => path === "" ? 0 : path.split("/").length;
    const order = [...this.#waiting.keys()].map((path) => ({ path, depth: depth(path) }));
    for (const { path } of order.sort((a, b) => b.depth - a.depth)) {
      const entry = this.#waiting.get(path)!;
      this.#place.entry = entry.name;
      this.#describeOpen(this.#directories.get(path), entry);
    }
  }

  [Symbol.dispose](): void {
    if (this.#file !== -1) closeQuietly(this.#file);
    this.#directories[Symbol.dispose]();
  }

  #parse(name: Uint8Array, what: string): string {
    return parsePath(name, { place: this.#place, maxDepth: this.#limits.maxDepth, what });
  }

  /** Makes a file of any kind by a call that refuses to touch what is there; removes that first. */
  #create<T>(path: string, make: (parent: number, leaf: ReturnType<typeof toCString>) => T): T {
    const { directory, leaf } = splitPath(path);
    const name = toCString(leaf);
    try {
      return make(this.#directories.get(directory), name);
    } catch (error) {
      if (!isErrno(error, "EEXIST")) throw error;
    }
    this.#remove(path);
    return make(this.#directories.get(directory), name);
  }

  #remove(path: string): void {
    const { directory, leaf } = splitPath(path);
    const name = toCString(leaf);
    try {
      unlinkAt(this.#directories.get(directory), name);
      return;
    } catch (error) {
      if (!isErrno(error, "EISDIR")) throw error;
    }
    this.#directories.forget(path);
    this.#waiting.delete(path);
    try {
      unlinkAt(this.#directories.get(directory), name, AT.AT_REMOVEDIR);
    } catch (error) {
      if (!isErrno(error, "ENOTEMPTY")) throw error;
      throw this.#place.refuse("replaces a directory that is not empty", error);
    }
  }

  #makeDirectory(path: string, entry: Entry): void {
    this.#waiting.delete(path);
    this.#waiting.set(path, entry);
    if (path === "") return;
    const { directory, leaf } = splitPath(path);
    const name = toCString(leaf);
    try {
      mkdirAt(this.#directories.get(directory), name, IMPLIED_MODE);
      return;
    } catch (error) {
      if (!isErrno(error, "EEXIST")) throw error;
    }
    if (this.#isDirectory(path)) return;
    this.#remove(path);
    mkdirAt(this.#directories.get(directory), name, IMPLIED_MODE);
  }

  #isDirectory(path: string): boolean {
    const { directory, leaf } = splitPath(path);
    const flags = O.O_DIRECTORY | O.O_NOFOLLOW | O.O_CLOEXEC;
    try {
      close(openAt(this.#directories.get(directory), toCString(leaf), flags));
      return true;
    } catch (error) {
      if (!isErrno(error, "ENOTDIR", "ELOOP")) throw error;
      return false;
    }
  }

  #link(path: string, entry: Entry): void {
    const target = this.#parse(entry.target, "link target");
    if (target === path) return;
    const from = splitPath(target);
    try {
      this.#create(path, (parent, leaf) => {
        const dirfd = this.#directories.get(from.directory);
        linkAt({ dirfd, path: toCString(from.leaf) }, { dirfd: parent, path: leaf });
      });
    } catch (error) {
      if (isErrno(error, "ENOENT", "EPERM")) {
        const state = isErrno(error, "ENOENT") ? "does not exist" : "cannot be linked to";
        throw this.#place.refuse(`links to ${showName(entry.target)}, which ${state}`, error);
      }
      throw error;
    }
  }

  /** Sets owner, mode and time of a file that cannot be opened; it was made just now, by us. */
  #describe(path: string, entry: Entry): void {
    const { directory, leaf } = splitPath(path);
    const parent = this.#directories.get(directory);
    const name = toCString(leaf);
    const { uid, gid, mode, isHeld } = decideOwner(entry, this.#policy);
    if (!isHeld) this.counts.ownersLost++;
    if (this.#policy.owners === "keep") lchownAt(parent, name, uid, gid);
    if (entry.kind === "fifo") fchmodAt(parent, name, mode);
    const { seconds, nanoseconds } = entry.mtime;
    setTimeAt(parent, name, BigInt(seconds) * 1_000_000_000n + BigInt(nanoseconds));
  }

  #describeOpen(fd: number, entry: Entry): void {
    const { uid, gid, mode, isHeld } = decideOwner(entry, this.#policy);
    if (!isHeld) this.counts.ownersLost++;
    if (this.#policy.owners === "keep") fchown(fd, uid, gid);
    fchmod(fd, mode);
    setTime(fd, entry.mtime.seconds, entry.mtime.nanoseconds);
  }
}
