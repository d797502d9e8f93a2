/** Directories beneath a root, opened one part at a time and never through a link. */
import { fchmod, isErrno, mkdirAt, O, openAt } from "../../ffi/mod.ts";
import { toCString } from "./byte_text.ts";
import { splitPath } from "./path.ts";
import type { Place } from "./place.ts";

const FLAGS = O.O_DIRECTORY | O.O_NOFOLLOW | O.O_CLOEXEC;

/** How many descriptors are kept: archives list a directory's files together. */
const KEPT = 64;

/** The mode of a directory that no entry speaks of, and of each until the end. */
export const IMPLIED_MODE = 0o755;

/** What else is done with them. */
export interface DirectoryUse {
  /** Called before one is opened, or made, that was not known. */
  readonly meet: (path: string) => void;
  /** Closes one. */
  readonly close: (fd: number) => void;
}

/** Opens directories beneath a root and keeps the latest descriptors. */
export class Directories implements Disposable {
  readonly #root: number;
  readonly #place: Place;
  readonly #use: DirectoryUse;
  /** By path, the least recently used first. */
  readonly #open = new Map<string, number>();
  #lastPath = "";
  #last: number;

  /** The root's descriptor stays the caller's. */
  constructor(root: number, place: Place, use: DirectoryUse) {
    this.#root = root;
    this.#last = root;
    this.#place = place;
    this.#use = use;
  }

  /**
   * Gives the descriptor of a directory and makes what is missing. It is open until the call after
   * the next, so that two can be used together.
   *
   * @throws {ArchiveError} If the path leads through a link or a file.
   * @throws {SyscallError} If the kernel refuses.
   */
  get(path: string): number {
    if (path === this.#lastPath) return this.#last;
    for (const oldest of this.#open.keys()) {
      if (this.#open.size <= KEPT) break;
      this.#use.close(this.#open.get(oldest)!);
      this.#open.delete(oldest);
    }
    const fd = this.#find(path);
    this.#lastPath = path;
    this.#last = fd;
    return fd;
  }

  [Symbol.dispose](): void {
    for (const fd of this.#open.values()) this.#use.close(fd);
    this.#open.clear();
    this.#lastPath = "";
    this.#last = this.#root;
  }

  #find(path: string): number {
    if (path === "") return this.#root;
    const known = this.#open.get(path);
    if (known !== undefined) {
      this.#open.delete(path);
      this.#open.set(path, known);
      return known;
    }
    this.#use.meet(path);
    const { directory, leaf } = splitPath(path);
    const fd = this.#openIn(this.#find(directory), leaf);
    this.#open.set(path, fd);
    return fd;
  }

  #openIn(parent: number, leaf: string): number {
    const name = toCString(leaf);
    try {
      return openAt(parent, name, FLAGS);
    } catch (error) {
      if (isErrno(error, "ENOTDIR", "ELOOP")) {
        throw this.#place.refuse("lies beneath what is a link or a file", error);
      }
      if (!isErrno(error, "ENOENT")) throw error;
    }
    mkdirAt(parent, name, IMPLIED_MODE);
    const fd = openAt(parent, name, FLAGS);
    fchmod(fd, IMPLIED_MODE); // whatever the umask
    return fd;
  }
}
