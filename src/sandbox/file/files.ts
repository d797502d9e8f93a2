/** The files of a sandbox, as its own root has them: opened inside, and never waited for. */
import {
  AT,
  closeQuietly,
  type FileStatus,
  fstatfs,
  isErrno,
  MAGIC,
  O,
  parseStatus,
  readDirectory,
  readLinkAt,
  statFd,
  SyscallError,
} from "../../../ffi/mod.ts";
import { UsageError } from "../../errors.ts";
import { fd, output, type Plan } from "../step.ts";
import type { Act, ActOptions } from "./act.ts";
import {
  copyMount,
  enterDirectory,
  enterOpen,
  giveTo,
  makeDirectories,
  makeDirectory,
  openPath,
  readLinkOf,
  remove,
  reopen,
  statName,
  statOpened,
} from "./act_plan.ts";
import { fileError } from "./file_error.ts";
import { type FileInfo, NO_FILE, toFileInfo, typeOf } from "./file_info.ts";
import { showPath, splitInsidePath, toPathText } from "./path.ts";
import { slices } from "./slice.ts";

/** Whom something new belongs to, as ids inside. */
export interface FileOwner {
  readonly uid: number;
  readonly gid: number;
}

/** What a directory holds. */
export interface ListedFile extends FileInfo {
  /** Text of one character a byte, as all paths here. */
  readonly name: string;
  /** Where a symbolic link leads; null for all else. */
  readonly target: string | null;
}

/** A mount that lies nowhere yet, by descriptor. */
export interface MountCopy extends Disposable {
  readonly fd: number;
}

/** How a directory is made. */
export interface MakeDirectoryOptions {
  readonly mode: number;
  readonly owner: FileOwner | null;
  /** Whether its parents are made too, and it may be there already. */
  readonly makeParents: boolean;
}

/** So many files are asked about at once. */
const BATCH = 256;

/** The files of one sandbox; paths are absolute, as `parseInsidePath` gives them. */
export class Files {
  readonly #act: Act;

  constructor(act: Act) {
    this.#act = act;
  }

  /** Does steps on behalf of a caller who hears of `path`. @throws {MinisandboxError} If refused. */
  async act<T>(
    asked: { readonly verb: string; readonly path: string },
    steps: Plan,
    options: ActOptions,
    look: Parameters<Act>[2] extends (running: infer R) => unknown ? (running: R) => T : never,
  ): Promise<T> {
    try {
      return await this.#act(steps, options, look);
    } catch (error) {
      throw error instanceof SyscallError ? fileError(asked.verb, asked.path, error) : error;
    }
  }

  /**
   * Opens a regular file to be read; the descriptor is the caller's.
   *
   * @throws {NotFoundError | UsageError} If there is none, or it is something else.
   */
  async openFile(path: string, verb = "read"): Promise<{ readonly file: number; size: number }> {
    const asked = { verb, path };
    const found = await this.#openPath(path, asked, O.O_PATH);
    try {
      const status = mustBeFile(statFd(found), asked);
      const file = await this.open(found, 0, asked);
      return { file, size: status.size };
    } finally {
      closeQuietly(found);
    }
  }

  /** Opens again, to be read or written, what is open and known to be no pipe. */
  open(
    found: number,
    access: number,
    asked: { readonly verb: string; readonly path: string },
  ): Promise<number> {
    const steps = [reopen(found, access, "opened")];
    const options = { place: "descriptors", opens: ["opened"] } as const;
    return this.act(asked, steps, options, (running) => running.output("opened"));
  }

  /** Tells of what has a name; a link itself, unless it is to be followed. */
  async stat(
    path: string,
    follows: boolean,
  ): Promise<Omit<ListedFile, "name">> {
    const asked = { verb: "look at", path };
    const steps = [
      openPath(path, { flags: O.O_PATH + (follows ? 0 : O.O_NOFOLLOW), as: "found" }),
      statOpened(output("found"), "status"),
    ];
    const opens = ["found"];
    return await this.act(asked, steps, { place: "inside", opens }, (running) => {
      const found = running.output("found");
      const info = toFileInfo(parseStatus(running.room("status")));
      try {
        const target = info.type === "symlink" ? readTarget(found) : null;
        return { ...info, target };
      } finally {
        closeQuietly(found);
      }
    });
  }

  /**
   * Lists a directory, sorted by the bytes of the names; who is removed meanwhile is left out.
   *
   * @param most So many at most; then `isCut` is true.
   */
  async list(
    path: string,
    most: number,
  ): Promise<{ readonly files: ListedFile[]; readonly isCut: boolean }> {
    const asked = { verb: "list", path };
    const found = await this.#openPath(path, asked, O.O_PATH + O.O_DIRECTORY);
    let directory = -1;
    try {
      directory = await this.open(found, O.O_DIRECTORY, asked);
      const { names, isCut } = await readNames(directory, most);
      const files: ListedFile[] = [];
      for (let at = 0; at < names.length; at += BATCH) {
        files.push(...await this.#describeAll(directory, names.slice(at, at + BATCH), asked));
      }
      return { files, isCut };
    } finally {
      closeQuietly(found);
      if (directory >= 0) closeQuietly(directory);
    }
  }

  /** Makes a directory. @throws {UsageError} If it is there and `makeParents` is not set. */
  async makeDirectory(path: string, options: MakeDirectoryOptions): Promise<void> {
    const { mode, owner, makeParents } = options;
    const asked = { verb: "make the directory", path };
    const { directory, leaf } = splitInsidePath(withoutSlash(path));
    const enter = makeParents ? makeDirectories(directory, 0o755) : enterDirectory(directory);
    const make = { ...makeDirectory(leaf, mode, makeParents), output: "made" };
    const see = openPath(leaf, { flags: O.O_PATH + O.O_DIRECTORY, as: "seen" });
    const steps = [...enter, make, see];
    const isMade = await this.act(
      asked,
      steps,
      { place: "inside" },
      (running) => running.output("made") === 0,
    );
    if (!isMade || owner === null) return;
    const flags = O.O_PATH + O.O_DIRECTORY + O.O_NOFOLLOW;
    const found = await this.#openPath(withoutSlash(path), asked, flags);
    const fds = { found };
    await this.act(asked, [giveTo(fd("found"), owner)], { place: "descriptors", fds }, () => {})
      .finally(() => closeQuietly(found));
  }

  /**
   * Removes a file, a link or an empty directory.
   *
   * @throws {NotFoundError | UsageError} If it is not there, or a directory that is not empty.
   */
  async remove(path: string): Promise<void> {
    const asked = { verb: "remove", path };
    const { directory, leaf } = splitInsidePath(withoutSlash(path));
    if (leaf === ".") throw new UsageError(`Cannot remove ${showPath(path)}: it has no name`);
    const enter = enterDirectory(directory);
    const inside = { place: "inside" } as const;
    try {
      await this.#act([...enter, remove(leaf, 0)], inside, () => {});
    } catch (error) {
      if (!isErrno(error, "EISDIR")) {
        throw error instanceof SyscallError ? fileError(asked.verb, path, error) : error;
      }
      await this.act(asked, [...enter, remove(leaf, AT.AT_REMOVEDIR)], inside, () => {});
    }
  }

  /** Opens a directory as a mount of its own, to be shown to a worker. */
  async copyMount(path: string, verb: string): Promise<MountCopy> {
    const steps = [...enterDirectory(path), copyMount("tree")];
    const options = { place: "mounts", opens: ["tree"] } as const;
    const fd = await this.act({ verb, path }, steps, options, (running) => running.output("tree"));
    return { fd, [Symbol.dispose]: () => closeQuietly(fd) };
  }

  #openPath(
    path: string,
    asked: { readonly verb: string; readonly path: string },
    flags: number,
  ): Promise<number> {
    const options = { place: "inside", opens: ["found"] } as const;
    return this.act(
      asked,
      [openPath(path, { flags, as: "found" })],
      options,
      (running) => running.output("found"),
    );
  }

  #describeAll(
    directory: number,
    names: readonly string[],
    asked: { readonly verb: string; readonly path: string },
  ): Promise<ListedFile[]> {
    const steps = [
      enterOpen("directory"),
      ...names.map((name) => statName(name, `status ${name}`)),
    ];
    const fds = { directory };
    return this.act(asked, steps, { place: "descriptors", fds }, (running) => {
      const statuses = names.map((name) =>
        [name, parseStatus(running.room(`status ${name}`))] as const
      )
        .filter(([, { mode }]) => mode !== 0);
      return statuses.map(([name, status]) => ({ name, ...toFileInfo(status), target: null }));
    }).then((files) => this.#addTargets(directory, files, asked));
  }

  /** Links are asked apart: their targets take room. */
  async #addTargets(
    directory: number,
    files: ListedFile[],
    asked: { readonly verb: string; readonly path: string },
  ): Promise<ListedFile[]> {
    const links = files.filter(({ type }) => type === "symlink");
    if (links.length === 0) return files;
    const steps = [
      enterOpen("directory"),
      ...links.map(({ name }) => readLinkOf(name, `target ${name}`)),
    ];
    const fds = { directory };
    return await this.act(asked, steps, { place: "descriptors", fds }, (running) => {
      const targetOf = (name: string) => {
        const length = running.output(`target ${name}`);
        return length > 0 ? toPathText(running.room(`target ${name}`).subarray(0, length)) : null;
      };
      return files.map((file) =>
        file.type === "symlink" ? { ...file, target: targetOf(file.name) } : file
      );
    });
  }
}

/** @throws {UsageError} If it is no regular file. */
export function mustBeFile(
  status: FileStatus,
  { verb, path }: { readonly verb: string; readonly path: string },
): FileStatus {
  const type = typeOf(status);
  if (type === "file") return status;
  throw new UsageError(`Cannot ${verb} ${showPath(path)}: ${NO_FILE[type]}`);
}

/** Files of /proc are no place to write to: a link there would change programs, not files. */
export function mustNotBeProc(
  file: number,
  { verb, path }: { readonly verb: string; readonly path: string },
): void {
  if (fstatfs(file).type !== MAGIC.PROC_SUPER_MAGIC) return;
  throw new UsageError(`Cannot ${verb} ${showPath(path)}: it lies in /proc`);
}

/** Null if what was a link when it was looked at is none any more. */
function readTarget(found: number): string | null {
  try {
    return toPathText(readLinkAt(found, ""));
  } catch (error) {
    if (!isErrno(error, "EINVAL", "ENOENT")) throw error;
    return null;
  }
}

function withoutSlash(path: string): string {
  return path.replace(/\/+$/, "") || "/";
}

async function readNames(
  directory: number,
  most: number,
): Promise<{ readonly names: string[]; readonly isCut: boolean }> {
  const rest = slices();
  const names: string[] = [];
  let isCut = false;
  for (let more = readDirectory(directory); more !== null; more = readDirectory(directory)) {
    for (const { name } of more) names.push(name);
    isCut = names.length > most;
    if (isCut) break;
    await rest();
  }
  return { names: names.sort().slice(0, most), isCut };
}
