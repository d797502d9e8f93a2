/** Makes files, directories and links beneath a root, in place of what had their names before. */
import {
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
import { Directories, type DirectoryUse, IMPLIED_MODE } from "./directory.ts";
import { splitPath } from "./path.ts";
import { type Place, showName } from "./place.ts";
import { isWhiteout } from "./whiteout.ts";

/** What a new file is opened with: nothing of its name may be there. */
export const NEW_FILE = O.O_WRONLY | O.O_CREAT | O.O_EXCL | O.O_NOFOLLOW | O.O_CLOEXEC;

/** Its mode until it is described. */
export const NEW_MODE = 0o600;

/** What can have a name. */
type Kind = "file" | "directory" | "symbolic link" | "fifo" | "whiteout" | "device";

const KINDS: Readonly<Record<number, Kind>> = {
  [S.S_IFREG]: "file",
  [S.S_IFDIR]: "directory",
  [S.S_IFLNK]: "symbolic link",
  [S.S_IFIFO]: "fifo",
};

/**
 * Makes things by calls that refuse to touch what is there; removes that first, as GNU tar does. But a
 * name is of one kind: what it led to when it was looked at is what it leads to for ever.
 */
export class Maker implements Disposable {
  readonly #place: Place;
  readonly #directories: Directories;

  /** The root's descriptor stays the caller's. */
  constructor(root: number, place: Place, use: DirectoryUse) {
    this.#place = place;
    this.#directories = new Directories(root, place, use);
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
    return this.#create(path, "file", (parent, leaf) => openAt(parent, leaf, NEW_FILE, NEW_MODE));
  }

  symlink(path: string, target: Uint8Array): void {
    this.#create(path, "symbolic link", (parent, leaf) => symlinkAt(target, parent, leaf));
  }

  fifo(path: string): void {
    this.#create(path, "fifo", (parent, leaf) => mknodAt(parent, leaf, S.S_IFIFO | 0o600));
  }

  /** Makes the device 0:0 by which overlayfs hides a name; it needs no right (mknod(2)). */
  whiteout(path: string): void {
    this.#create(path, "whiteout", (parent, leaf) => mknodAt(parent, leaf, S.S_IFCHR));
  }

  /** Makes a hard link to what another path names. */
  link(path: string, target: string, shown: Uint8Array): void {
    if (target === path) return;
    const from = splitPath(target);
    const kind = this.find(target);
    if (kind === null || kind === "directory") {
      const state = kind === null ? "does not exist" : "is a directory";
      throw this.#place.refuse(`links to ${showName(shown)}, which ${state}`);
    }
    try {
      this.#create(path, kind, (parent, leaf) => {
        const dirfd = this.#directories.get(from.directory);
        linkAt({ dirfd, path: toCString(from.leaf) }, { dirfd: parent, path: leaf });
      });
    } catch (error) {
      if (!isErrno(error, "EPERM")) throw error;
      throw this.#place.refuse(`links to ${showName(shown)}, which cannot be linked to`, error);
    }
  }

  /** Makes a directory, or keeps the one that is there; says whether it replaced a whiteout. */
  directory(path: string): { readonly replacesWhiteout: boolean } {
    const { directory, leaf } = splitPath(path);
    const name = toCString(leaf);
    try {
      mkdirAt(this.#directories.get(directory), name, IMPLIED_MODE);
      return { replacesWhiteout: false };
    } catch (error) {
      if (!isErrno(error, "EEXIST")) throw error;
    }
    if (this.find(path) === "directory") return { replacesWhiteout: false };
    this.#remove(path, "directory");
    mkdirAt(this.#directories.get(directory), name, IMPLIED_MODE);
    return { replacesWhiteout: true };
  }

  /** Says what has a name; null if nothing has. */
  find(path: string): Kind | null {
    const { directory, leaf } = splitPath(path);
    if (leaf === "") return "directory";
    try {
      const status = lstatAt(this.#directories.get(directory), toCString(leaf));
      return isWhiteout(status) ? "whiteout" : KINDS[status.mode & S.S_IFMT] ?? "device";
    } catch (error) {
      if (!isErrno(error, "ENOENT")) throw error;
      return null;
    }
  }

  #create<T>(
    path: string,
    kind: Kind,
    make: (parent: number, leaf: ReturnType<typeof toCString>) => T,
  ): T {
    const { directory, leaf } = splitPath(path);
    const name = toCString(leaf);
    try {
      return make(this.#directories.get(directory), name);
    } catch (error) {
      if (!isErrno(error, "EEXIST")) throw error;
    }
    this.#remove(path, kind);
    return make(this.#directories.get(directory), name);
  }

  /** Makes room for what is of the same kind, or was hidden. */
  #remove(path: string, kind: Kind): void {
    const found = this.find(path);
    if (found !== kind && found !== "whiteout") {
      throw this.#place.refuse(`is a ${kind}, but its name is already that of a ${found}`);
    }
    const { directory, leaf } = splitPath(path);
    unlinkAt(this.#directories.get(directory), toCString(leaf));
  }
}
