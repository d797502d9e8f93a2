/** Trees removed, whatever their modes and depth, never through a link. */
import {
  AT,
  close,
  closeQuietly,
  type CString,
  fchmodAt,
  isErrno,
  O,
  openAt,
  readDirectory,
  renameAt,
  type Unlink,
  unlinkAside,
  unlinkAt,
} from "../../ffi/mod.ts";
import { delay } from "@std/async/delay";

/** Removes a tree. */
export type RemoveTree = (dir: string) => Promise<void>;

/**
 * The name of a file at the top that is removed when all else is: as long as it is there, and locked, nobody
 * takes what is left for his.
 */
export const LAST_REMOVED = "lock";

/** So often it is tried. */
const ATTEMPTS = 5;

/** A directory deeper than this is moved up: neither stack nor descriptors depend on the depth. */
const MAX_DEPTH = 64;

/** So many names are removed at once, and so many directories among them. */
const BATCH = 256;
const MOST_OPEN = 16;

/** So long others wait for us at most. */
const SLICE_MS = 4;

/**
 * Removes a directory and all beneath it; nothing there is no error.
 *
 * @throws {Deno.errors.PermissionDenied} If it holds directories of others.
 */
export async function removeTree(dir: string): Promise<void> {
  await persist(dir, () => new Removal(dir).run({ keepsTop: false }));
}

/** Removes all beneath a directory, and leaves that. @throws As `removeTree`. */
export async function emptyTree(dir: string): Promise<void> {
  await persist(dir, () => new Removal(dir).run({ keepsTop: true }));
}

/** Something may still be dying in it, and make a file while we remove. */
async function persist(dir: string, work: () => Promise<void>): Promise<void> {
  for (let attempt = 1;; attempt++) {
    try {
      await work();
      return;
    } catch (error) {
      if (isErrno(error, "EACCES", "EPERM")) {
        throw new Deno.errors.PermissionDenied(`Cannot remove "${dir}"`, { cause: error });
      }
      if (attempt === ATTEMPTS || !isErrno(error, ...OVERTAKEN)) throw error;
      await delay(20 * attempt);
    }
  }
}

/** What comes of a tree that another changes meanwhile. */
const OVERTAKEN = ["ENOENT", "ENOTEMPTY", "ENOTDIR", "EISDIR", "EINTR"] as const;

/** One removal, in slices between which others go on. */
class Removal {
  readonly #dir: string;
  /** What no name in the tree can begin with. */
  readonly #prefix = `.removed-${crypto.randomUUID()}-`;
  #until = performance.now() + SLICE_MS;
  /** Names to be removed, in order: none in a directory comes after that. */
  readonly #found: Unlink[] = [];
  /** How many of them are directories that are open. */
  #opened = 0;
  /** Whether there is a file that is removed after all others. */
  #hasLast = false;
  /** Directories that were moved to the top, by number. */
  #moved = 0;

  constructor(dir: string) {
    this.#dir = dir;
  }

  async run({ keepsTop }: { readonly keepsTop: boolean }): Promise<void> {
    const top = openIfThere(this.#dir);
    if (top === null) return;
    await this.#closeUnless(top, async () => {
      await this.#empty(top, top, 0);
      for (let number = 0; number < this.#moved; number++) {
        await this.#removeDirectory(top, this.#movedName(number), top, 1);
      }
      await this.#unlinkAll();
      if (this.#hasLast) await this.#unlink(top, LAST_REMOVED, 0, -1);
      if (keepsTop) await this.#unlinkAll();
    });
    if (keepsTop) return close(top);
    await this.#unlink(AT.AT_FDCWD, this.#dir, AT.AT_REMOVEDIR, top);
    await this.#unlinkAll();
  }

  async #empty(fd: number, top: number, depth: number): Promise<void> {
    for (let found = readDirectory(fd); found !== null; found = readDirectory(fd)) {
      for (const { name, isDirectory } of found) {
        if (fd === top && this.#comesLater(name, isDirectory)) continue;
        const bytes = toBytes(name);
        await this.#rest();
        if (isDirectory === false) await this.#unlink(fd, bytes, 0, -1);
        else if (isDirectory === null && unlinked(fd, bytes)) continue;
        else if (depth < MAX_DEPTH) await this.#removeDirectory(fd, bytes, top, depth + 1);
        else this.#moveUp(fd, bytes, top);
      }
    }
  }

  #comesLater(name: string, isDirectory: boolean | null): boolean {
    if (name !== LAST_REMOVED || isDirectory !== false) return name.startsWith(this.#prefix);
    this.#hasLast = true;
    return true;
  }

  async #rest(): Promise<void> {
    if (performance.now() <= this.#until) return;
    await delay(0);
    this.#until = performance.now() + SLICE_MS;
  }

  async #removeDirectory(fd: number, name: CString, top: number, depth: number): Promise<void> {
    const inner = openDirectory(fd, name);
    await this.#closeUnless(inner, () => this.#empty(inner, top, depth));
    await this.#unlink(fd, name, AT.AT_REMOVEDIR, inner);
  }

  /** Closes a directory, and those that wait to be removed, if going through it fails. */
  async #closeUnless(fd: number, goThrough: () => Promise<void>): Promise<void> {
    try {
      await goThrough();
    } catch (error) {
      const waiting = this.#found.splice(0).map(({ opened }) => opened).filter((it) => it >= 0);
      closeQuietly(fd, ...waiting);
      throw error;
    }
  }

  async #unlink(dirfd: number, name: CString, flags: number, opened: number): Promise<void> {
    this.#found.push({ dirfd, name, flags, opened });
    if (opened >= 0) this.#opened++;
    if (this.#found.length >= BATCH || this.#opened >= MOST_OPEN) await this.#unlinkAll();
  }

  /** Removes what was found. */
  async #unlinkAll(): Promise<void> {
    this.#opened = 0;
    if (this.#found.length > 0) await unlinkAside(this.#found.splice(0));
  }

  #moveUp(fd: number, name: CString, top: number): void {
    close(openDirectory(fd, name)); // a move writes the directory itself too
    renameAt(fd, name, top, this.#movedName(this.#moved));
    this.#moved++;
  }

  #movedName(number: number): string {
    return `${this.#prefix}${number}`;
  }
}

/** Removes what is no directory; false if it is one. */
function unlinked(fd: number, name: CString): boolean {
  try {
    unlinkAt(fd, name);
    return true;
  } catch (error) {
    if (isErrno(error, "EISDIR")) return false;
    throw error;
  }
}

function openIfThere(dir: string): number | null {
  try {
    return openDirectory(AT.AT_FDCWD, dir);
  } catch (error) {
    if (!isErrno(error, "ENOENT")) throw error;
    return null;
  }
}

/**
 * Opens a directory to empty it, and makes that possible: overlayfs leaves one with mode 0000. Its mode
 * is changed by descriptor: a link that took its name meanwhile would lead elsewhere.
 */
function openDirectory(fd: number, name: CString): number {
  const flags = O.O_DIRECTORY | O.O_NOFOLLOW | O.O_CLOEXEC;
  if (Deno.uid() === 0) return openAt(fd, name, flags);
  const found = openAt(fd, name, flags | O.O_PATH);
  try {
    fchmodAt(AT.AT_FDCWD, `/proc/self/fd/${found}`, 0o700);
    return openAt(found, ".", flags);
  } finally {
    close(found);
  }
}

/** A name is text of one character a byte. */
function toBytes(name: string): Uint8Array {
  return Uint8Array.from(name, (character) => character.charCodeAt(0));
}
