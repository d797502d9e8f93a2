/** Makes files, directories and links beneath a root, in place of what had their names before. */
import {
  AT,
  isErrno,
  linkAt,
  lstatAt,
  mkdirAt,
  mknodAt,
  O,
  openAt,
  S,
  symlinkAt,
  unlinkAt,
} from "../../ffi/mod.ts";
import { toCString } from "./byte_text.ts";
import { Directories, IMPLIED_MODE } from "./directory.ts";
import { splitPath } from "./path.ts";
import { type Place, showName } from "./place.ts";
import { isWhiteout } from "./whiteout.ts";

const NEW_FILE = O.O_WRONLY | O.O_CREAT | O.O_EXCL | O.O_NOFOLLOW | O.O_CLOEXEC;

/** Makes things by calls that refuse to touch what is there; removes that first, as GNU tar does. */
export class Maker implements Disposable {
  readonly #place: Place;
  readonly #directories: Directories;
  readonly #onRemove: (path: string) => void;

  /** The root's descriptor stays the caller's; `onRemove` is told of each directory removed. */
  constructor(root: number, place: Place, onRemove: (path: string) => void) {
    this.#place = place;
    this.#directories = new Directories(root, place);
    this.#onRemove = onRemove;
  }

  [Symbol.dispose](): void {
    this.#directories[Symbol.dispose]();
  }

  /** Gives the descriptor of a directory, which is made if it is missing; see `Directories`. */
  open(path: string): number {
    return this.#directories.get(path);
  }

  /** Makes an empty file and gives a descriptor to write it. */
  file(path: string): number {
    return this.#create(path, (parent, leaf) => openAt(parent, leaf, NEW_FILE, 0o600));
  }

  symlink(path: string, target: Uint8Array): void {
    this.#create(path, (parent, leaf) => symlinkAt(target, parent, leaf));
  }

  fifo(path: string): void {
    this.#create(path, (parent, leaf) => mknodAt(parent, leaf, S.S_IFIFO | 0o600));
  }

  /** Makes the device 0:0 by which overlayfs hides a name; it needs no right (mknod(2)). */
  whiteout(path: string): void {
    this.#create(path, (parent, leaf) => mknodAt(parent, leaf, S.S_IFCHR));
  }

  /** Makes a hard link to what another path names. */
  link(path: string, target: string, shown: Uint8Array): void {
    if (target === path) return;
    const from = splitPath(target);
    try {
      this.#create(path, (parent, leaf) => {
        const dirfd = this.#directories.get(from.directory);
        linkAt({ dirfd, path: toCString(from.leaf) }, { dirfd: parent, path: leaf });
      });
    } catch (error) {
      if (!isErrno(error, "ENOENT", "EPERM")) throw error;
      const state = isErrno(error, "ENOENT") ? "does not exist" : "cannot be linked to";
      throw this.#place.refuse(`links to ${showName(shown)}, which ${state}`, error);
    }
  }

  /** Makes a directory, or keeps the one that is there; says whether it replaced a whiteout. */
  directory(path: string): "made" | "kept" | "replaced whiteout" {
    const { directory, leaf } = splitPath(path);
    const name = toCString(leaf);
    try {
      mkdirAt(this.#directories.get(directory), name, IMPLIED_MODE);
      return "made";
    } catch (error) {
      if (!isErrno(error, "EEXIST")) throw error;
    }
    const found = this.find(path);
    if (found === "directory") return "kept";
    this.#remove(path);
    mkdirAt(this.#directories.get(directory), name, IMPLIED_MODE);
    return found === "whiteout" ? "replaced whiteout" : "made";
  }

  /** Says what has a name. */
  find(path: string): "nothing" | "directory" | "whiteout" | "other" {
    const { directory, leaf } = splitPath(path);
    try {
      const status = lstatAt(this.#directories.get(directory), toCString(leaf));
      if ((status.mode & S.S_IFMT) === S.S_IFDIR) return "directory";
      return isWhiteout(status) ? "whiteout" : "other";
    } catch (error) {
      if (!isErrno(error, "ENOENT")) throw error;
      return "nothing";
    }
  }

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
    this.#onRemove(path);
    try {
      unlinkAt(this.#directories.get(directory), name, AT.AT_REMOVEDIR);
    } catch (error) {
      if (!isErrno(error, "ENOTEMPTY")) throw error;
      throw this.#place.refuse("replaces a directory that is not empty", error);
    }
  }
}
