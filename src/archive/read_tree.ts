/** A live tree in, its entries out: every call relative to a descriptor, none through a link. */
import {
  close,
  type FileStatus,
  isErrno,
  lstatAt,
  O,
  openAt,
  readLinkAt,
  S,
  statFd,
} from "../../ffi/mod.ts";
import { fromByteText, toCString } from "./byte_text.ts";
import type { PackedEntry, Xattr } from "./entry.ts";
import { DEFAULT_LIMITS } from "./limit.ts";
import { type EntryPolicy, toEntry, toMark } from "./status_entry.ts";
import { isOpaque, isWhiteout, OPAQUE_NAME, WHITEOUT_PREFIX } from "./whiteout.ts";
import { isChanged, isSame, listNames } from "./live.ts";
import { HardLinks } from "./hard_link.ts";
import type { PackPlace } from "./pack_place.ts";
import { contentBuffer, findExtents, readContent } from "./content.ts";
import { readXattrs } from "./xattr.ts";

/** Something that is not in the archive as it is in the tree. */
export interface PackNote {
  /** The file's name, quoted. */
  readonly name: string;
  /** What follows it in a sentence: `is a socket, which is left out`. */
  readonly state: string;
}

/** What decides how a tree is read. */
export interface ReadPolicy extends EntryPolicy {
  readonly whiteouts: "oci" | "plain";
  readonly onChange?: "fail" | "note";
  readonly onNote?: (note: PackNote) => void;
}

/** An entry, and its bytes if it is a file; they must be taken before the next entry. */
export interface Found {
  readonly entry: PackedEntry;
  readonly content: Iterable<Uint8Array> | null;
}

// A pipe or a device that takes a file's place must neither block nor be driven.
const FLAGS = O.O_NOFOLLOW | O.O_NONBLOCK | O.O_NOCTTY | O.O_CLOEXEC;

const KINDS: Readonly<Record<number, PackedEntry["kind"]>> = {
  [S.S_IFREG]: "file",
  [S.S_IFDIR]: "directory",
  [S.S_IFLNK]: "symlink",
  [S.S_IFIFO]: "fifo",
};

const LEFT_OUT: Readonly<Record<number, string>> = {
  [S.S_IFSOCK]: "is a socket, which is left out",
  [S.S_IFCHR]: "is a character device, which is left out",
  [S.S_IFBLK]: "is a block device, which is left out",
};

const CHANGED = "changed while it was read";

/** Reads trees; hard links between files are found in all of them. */
export class TreeReader {
  readonly #place: PackPlace;
  readonly #policy: ReadPolicy;
  readonly #links = new HardLinks();
  readonly #buffer = contentBuffer();

  constructor(place: PackPlace, policy: ReadPolicy) {
    this.#place = place;
    this.#policy = policy;
  }

  /** Gives a directory and all beneath it, as they stand at `path` of the archive. */
  *read(dir: number, path: string): Generator<Found> {
    this.#place.path = path;
    yield* this.#readDirectory(dir, path, 0);
  }

  *#readDirectory(fd: number, path: string, depth: number): Generator<Found> {
    const before = statFd(fd);
    const xattrs = this.#readXattrs(fd);
    yield this.#found("directory", path === "" ? "." : path, before, { xattrs });
    if (this.#policy.whiteouts === "oci" && isOpaque(fd)) yield mark(join(path, OPAQUE_NAME));
    for (const name of listNames(fd)) {
      const child = join(path, name);
      this.#place.path = child;
      yield* this.#readChild(fd, name, child, depth + 1);
    }
    this.#place.path = path;
    if (isChanged(before, statFd(fd))) this.#tellChange();
  }

  *#readChild(parent: number, name: string, path: string, depth: number): Generator<Found> {
    if (depth > DEFAULT_LIMITS.maxDepth) {
      throw this.#place.refuse(`lies more than ${DEFAULT_LIMITS.maxDepth} directories deep`);
    }
    const status = this.#ifThere(() => lstatAt(parent, toCString(name)));
    if (status === null) return;
    if (isWhiteout(status)) {
      yield this.#whiteout(name, path, status);
      return;
    }
    if (this.#policy.whiteouts === "oci" && name.startsWith(WHITEOUT_PREFIX)) {
      throw this.#place.refuse("has a name that means a whiteout in an OCI layer");
    }
    const type = status.mode & S.S_IFMT;
    const kind = KINDS[type];
    if (kind === undefined) return this.#note(LEFT_OUT[type] ?? "is of an unknown type");
    if (kind !== "directory" && status.links > 1) {
      const first = this.#links.firstName(status, path);
      if (first !== null) {
        yield this.#found("link", path, status, { target: fromByteText(first) });
        return;
      }
    }
    if (kind === "symlink") {
      const target = this.#ifThere(() => readLinkAt(parent, toCString(name)));
      if (target === null) return this.#links.forget(status);
      return yield this.#found(kind, path, status, { target });
    }
    if (kind === "fifo") return yield this.#found(kind, path, status, {});

    const fd = this.#ifThere(() => openAt(parent, toCString(name), FLAGS));
    if (fd === null) return this.#links.forget(status);
    try {
      const opened = statFd(fd);
      if (!isSame(status, opened)) {
        this.#links.forget(status);
        return this.#tellChange();
      }
      if (kind === "directory") yield* this.#readDirectory(fd, path, depth);
      else yield* this.#readFile(fd, path, opened);
    } finally {
      close(fd);
    }
  }

  *#readFile(fd: number, path: string, before: FileStatus): Generator<Found> {
    const extents = findExtents(fd, before);
    const xattrs = this.#readXattrs(fd);
    const { entry } = this.#found("file", path, before, { size: before.size, extents, xattrs });
    yield { entry, content: before.size === 0 ? null : readContent(fd, entry, this.#buffer) };
    if (isChanged(before, statFd(fd))) this.#tellChange();
  }

  #found(
    kind: PackedEntry["kind"],
    path: string,
    status: FileStatus,
    more: Partial<PackedEntry>,
  ): Found {
    return { entry: { ...toEntry(kind, path, status, this.#policy), ...more }, content: null };
  }

  #whiteout(name: string, path: string, status: FileStatus): Found {
    if (this.#policy.whiteouts === "plain") return this.#found("whiteout", path, status, {});
    const directory = path.slice(0, path.length - name.length);
    return mark(`${directory}${WHITEOUT_PREFIX}${name}`);
  }

  #readXattrs(fd: number): Xattr[] {
    return readXattrs(fd, (name) => this.#note(`has the attribute ${name}, which is left out`));
  }

  /** Makes a call on a name that was listed: gone now, or of another kind, it has changed. */
  #ifThere<T>(call: () => T): T | null {
    try {
      return call();
    } catch (error) {
      if (!isErrno(error, "ENOENT", "ENOTDIR", "ELOOP", "ENXIO", "EINVAL")) throw error;
      this.#tellChange();
      return null;
    }
  }

  #tellChange(): void {
    if (this.#policy.onChange === "note") return this.#note(CHANGED);
    throw this.#place.refuse(CHANGED, "Pack it while nothing writes to it.");
  }

  #note(state: string): void {
    this.#policy.onNote?.({ name: this.#place.name, state });
  }
}

function mark(path: string): Found {
  return { entry: toMark(path), content: null };
}

function join(directory: string, name: string): string {
  return directory === "" ? name : `${directory}/${name}`;
}
