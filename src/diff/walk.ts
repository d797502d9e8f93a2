/** Two trees compared: only where something was written, if that is known. */
import { closeQuietly, type FileStatus, read } from "../../ffi/mod.ts";
import { type Change, type ChangeStatus, kindOf, toSide } from "./change.ts";
import {
  hidesBelow,
  join,
  listNames,
  look,
  openBeneath,
  openDirectory,
  openFile,
  openRoot,
  readLink,
} from "./tree.ts";

/** What is compared. */
export interface Trees {
  readonly before: string;
  readonly after: string;
  /**
   * What was written, as uppers of overlayfs: a directory's, and where it lies in the trees, "" for
   * their root. Null if that is not known: then all is compared.
   */
  readonly written: readonly { readonly dir: string; readonly at: string }[] | null;
  /** The directory in both that is compared, "" for all. */
  readonly root: string;
  /** Says whether a path beneath it, and what lies there, is of interest. */
  readonly isWanted: (path: string, isDirectory: boolean) => boolean;
}

/** A change, and the directories that hold its two sides, valid until the next is asked for. */
export interface Difference {
  readonly change: Change;
  readonly name: string;
  readonly before: number | null;
  readonly after: number | null;
}

/** Directories deeper than this are not compared: each holds descriptors. */
const MAX_DEPTH = 1024;

/** An upper, open. */
interface Written {
  readonly root: number;
  readonly at: string;
}

/** Finds what changed, sorted by path. @throws {SyscallError} If the file system refuses. */
export function* findDifferences(trees: Trees): Generator<Difference> {
  const { root, isWanted } = trees;
  using held = new DisposableStack();
  const keep = (fd: number): number => held.adopt(fd, closeQuietly);
  const before = keep(openRoot(trees.before));
  const after = keep(openRoot(trees.after));
  const written = trees.written?.map(({ dir, at }) => ({ root: keep(openRoot(dir)), at })) ?? null;
  const from = openBeneath(before, root);
  if (from !== null) keep(from);
  const to = openBeneath(after, root);
  if (to !== null) keep(to);
  const walk = new Walk(written, root, isWanted);
  const isReplaced = from === null || to === null || walk.isHidden();
  yield* walk.directory({ before: from, after: to, path: "", depth: 0, isReplaced });
}

interface Spot {
  readonly before: number | null;
  readonly after: number | null;
  readonly path: string;
  readonly depth: number;
  /** Whether what was written does not tell what differs below. */
  readonly isReplaced: boolean;
}

class Walk {
  readonly #written: readonly Written[] | null;
  readonly #root: string;
  readonly #isWanted: Trees["isWanted"];

  constructor(written: readonly Written[] | null, root: string, isWanted: Trees["isWanted"]) {
    this.#written = written;
    this.#root = root;
    this.#isWanted = isWanted;
  }

  /** Says whether an upper hides what the root, or a directory above it, had. */
  isHidden(): boolean {
    const parts = this.#root.split("/");
    const paths = ["", ...parts.map((_, i) => parts.slice(0, i + 1).join("/"))];
    return paths.some((path) => this.#names(path) === null);
  }

  *directory({ before, after, path, depth, isReplaced }: Spot): Generator<Difference> {
    if (depth > MAX_DEPTH) return;
    const known = isReplaced ? null : this.#names(join(this.#root, path).replace(/\/$/, ""));
    const names = known ?? new Set([...listNames(before), ...listNames(after)]);
    for (const name of [...names].sort()) {
      const child = join(path, name);
      const was = look(before, name);
      const is = look(after, name);
      const wasDirectory = was !== null && kindOf(was) === "directory";
      const isDirectory = is !== null && kindOf(is) === "directory";
      if (!this.#isWanted(child, wasDirectory || isDirectory)) continue;
      const status = statusOf({ before, after, name }, was, is);
      if (status !== null) {
        const sides = { before: was && toSide(was), after: is && toSide(is) };
        yield { change: { path: child, status, ...sides }, name, before, after };
      }
      if (!wasDirectory && !isDirectory) continue;
      using held = new DisposableStack();
      const open = (fd: number | null) => fd === null ? null : held.adopt(fd, closeQuietly);
      yield* this.directory({
        before: wasDirectory ? open(openDirectory(before!, name)) : null,
        after: isDirectory ? open(openDirectory(after!, name)) : null,
        path: child,
        depth: depth + 1,
        isReplaced: known === null || !wasDirectory || !isDirectory,
      });
    }
  }

  /** Names that something was written to; null if all may differ. */
  #names(path: string): Set<string> | null {
    if (this.#written === null) return null;
    const names = new Set<string>();
    const owner = ownerOf(path, this.#written);
    for (const { root, at } of this.#written) {
      const isBelow = at !== path && (path === "" ? at !== "" : at.startsWith(`${path}/`));
      if (isBelow) names.add(at.slice(path === "" ? 0 : path.length + 1).split("/")[0]!);
      if (at !== owner) continue;
      const directory = openBeneath(root, at === "" ? path : path.slice(at.length + 1));
      if (directory === null) continue;
      try {
        if (hidesBelow(directory)) return null;
        for (const name of listNames(directory)) names.add(name);
      } finally {
        closeQuietly(directory);
      }
    }
    return names;
  }
}

/** The part that holds a path: the deepest above it. */
function ownerOf(path: string, written: readonly Written[]): string {
  const above = written.map(({ at }) => at)
    .filter((at) => at === "" || path === at || path.startsWith(`${at}/`));
  return above.sort((a, b) => b.length - a.length)[0] ?? "";
}

interface Named {
  readonly before: number | null;
  readonly after: number | null;
  readonly name: string;
}

function statusOf(
  at: Named,
  was: FileStatus | null,
  is: FileStatus | null,
): ChangeStatus | null {
  if (was === null) return is === null ? null : "added";
  if (is === null) return "deleted";
  const kind = kindOf(was);
  if (kind !== kindOf(is)) return "typeChanged";
  if (!hasSameContent(at, was, is)) return "modified";
  const isSame = was.mode === is.mode && was.uid === is.uid && was.gid === is.gid;
  return isSame ? null : "attributesChanged";
}

/** A time of change cannot be set: what has it still was not touched. */
function hasSameContent(at: Named, was: FileStatus, is: FileStatus): boolean {
  const kind = kindOf(was);
  if (kind === "symlink") {
    const [a, b] = [readLink(at.before!, at.name), readLink(at.after!, at.name)];
    return a !== null && b !== null && isEqual(a, b);
  }
  if (kind !== "file") return true;
  if (was.size !== is.size) return false;
  if (was.ctimeNs === is.ctimeNs && was.mtimeNs === is.mtimeNs) return true;
  const a = openFile(at.before!, at.name);
  const b = openFile(at.after!, at.name);
  try {
    return a !== null && b !== null && holdSame(a, b);
  } finally {
    closeQuietly(...[a, b].filter((fd) => fd !== null));
  }
}

function holdSame(a: number, b: number): boolean {
  const [one, other] = [new Uint8Array(CHUNK_BYTES), new Uint8Array(CHUNK_BYTES)];
  for (;;) {
    const [m, n] = [fill(a, one), fill(b, other)];
    if (m !== n || !isEqual(one.subarray(0, m), other.subarray(0, n))) return false;
    if (m === 0) return true;
  }
}

const CHUNK_BYTES = 256 * 1024;

/** Reads until the buffer is full or the file ends. */
export function fill(fd: number, buffer: Uint8Array<ArrayBuffer>): number {
  let filled = 0;
  while (filled < buffer.length) {
    const count = read(fd, buffer.subarray(filled));
    if (count === 0) break;
    filled += count;
  }
  return filled;
}

function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
