/** A file inside written: under another name first, or in place. */
import {
  closeQuietly,
  type FileStatus,
  O,
  parseStatus,
  statFd,
  SyscallError,
  write,
} from "../../../ffi/mod.ts";
import { UsageError } from "../../errors.ts";
import { fd } from "../step.ts";
import {
  describe,
  enterDirectory,
  enterOpen,
  makeDirectories,
  makeFile,
  openHere,
  openPath,
  readLinkOf,
  remove,
  rename,
  statName,
} from "./act_plan.ts";
import { fileError } from "./file_error.ts";
import { NO_FILE, typeOf } from "./file_info.ts";
import { type FileOwner, type Files, mustBeFile, mustNotBeProc } from "./files.ts";
import { followLink, showPath, splitInsidePath, toPathText } from "./path.ts";
import { slices } from "./slice.ts";

/** How a file is written. */
export interface WriteOptions {
  /** Its permissions; null for those it has, or 0644. */
  readonly mode: number | null;
  /** Whom it belongs to; null for whom it belongs to now, or root. */
  readonly owner: FileOwner | null;
  readonly makeParents: boolean;
  /** Whether readers see the old file or all of the new one; else it stays the same file. */
  readonly isAtomic: boolean;
}

/** Where a file is, or is to be: its name in an open directory. */
interface Spot {
  readonly directory: number;
  readonly leaf: string;
  /** What has the name; null if nothing has. */
  readonly status: FileStatus | null;
}

/** So many links are followed as the kernel follows (path_resolution(7)). */
const MAX_LINKS = 40;

/** The id that stands for owners that do not exist inside. */
const NOBODY = 65534;

/**
 * Writes a file; links are followed, within the sandbox. Gives the bytes written.
 *
 * @throws {MinisandboxError} If it cannot be written; in place, a part may have been by then.
 */
export async function writeFile(
  files: Files,
  path: string,
  source: Iterable<Uint8Array<ArrayBuffer>> | AsyncIterable<Uint8Array<ArrayBuffer>>,
  options: WriteOptions,
): Promise<number> {
  const asked = { verb: "write", path };
  const spot = await find(files, path, options.makeParents);
  try {
    return options.isAtomic
      ? await replace(files, spot, source, { ...options, asked })
      : await overwrite(files, spot, source, { ...options, asked });
  } catch (error) {
    throw error instanceof SyscallError ? fileError(asked.verb, path, error) : error;
  } finally {
    closeQuietly(spot.directory);
  }
}

/** Finds where a path leads; links are followed by us, so that the name is known that is replaced. */
async function find(files: Files, path: string, makesParents: boolean): Promise<Spot> {
  const asked = { verb: "write", path };
  let at = path;
  for (let links = 0; links <= MAX_LINKS; links++) {
    const split = splitInsidePath(at);
    if (split.leaf === ".") {
      throw new UsageError(`Cannot write ${showPath(path)}: ${NO_FILE.directory}`);
    }
    const isAsked = makesParents && links === 0;
    const steps = [
      ...(isAsked ? makeDirectories(split.directory, 0o755) : enterDirectory(split.directory)),
      openHere("directory"),
      statName(split.leaf, "status"),
      readLinkOf(split.leaf, "target"),
    ];
    const options = { place: "inside", opens: ["directory"] } as const;
    const found = await files.act(asked, steps, options, (running) => {
      const length = running.output("target");
      return {
        directory: running.output("directory"),
        status: parseStatus(running.room("status")),
        target: length > 0 ? toPathText(running.room("target").subarray(0, length)) : null,
      };
    });
    const { directory, status, target } = found;
    if (status.mode === 0) return { directory, leaf: split.leaf, status: null };
    const type = typeOf(status);
    if (type === "file") return { directory, leaf: split.leaf, status };
    closeQuietly(directory);
    if (type !== "symlink") {
      throw new UsageError(`Cannot write ${showPath(path)}: ${NO_FILE[type]}`);
    }
    // What was a link when it was looked at may be none by now: then it is looked at again.
    if (target !== null) at = followLink(split, target);
  }
  throw new UsageError(`Cannot write ${showPath(path)}: it leads through too many links`);
}

type Source = Parameters<typeof writeFile>[2];
type Wish = WriteOptions & { readonly asked: { readonly verb: string; readonly path: string } };

async function replace(
  files: Files,
  { directory, leaf, status }: Spot,
  source: Source,
  { mode, owner, asked }: Wish,
): Promise<number> {
  const temporary = `.minisandbox-${crypto.getRandomValues(new Uint8Array(8)).toHex()}`;
  const place = "descriptors";
  const fds = { directory };
  const make = [enterOpen("directory"), makeFile(temporary, 0o600, "file")];
  const file = await files.act(
    asked,
    make,
    { place, fds, opens: ["file"] },
    (running) => running.output("file"),
  );
  let isRenamed = false;
  try {
    mustNotBeProc(file, asked);
    const written = await writeAll(file, source);
    await files.act(
      asked,
      [
        enterOpen("directory"),
        ...describe(
          fd("file"),
          owner ?? ownerOf(status),
          mode ?? (status === null ? 0o644 : status.mode & 0o777),
        ),
        rename(temporary, leaf),
      ],
      { place, fds: { directory, file } },
      () => {},
    );
    isRenamed = true;
    return written;
  } finally {
    closeQuietly(file);
    if (!isRenamed) {
      const undo = [enterOpen("directory"), remove(temporary, 0, true)];
      await files.act(asked, undo, { place, fds }, () => {});
    }
  }
}

/** A program that has it open sees it change. */
async function overwrite(
  files: Files,
  spot: Spot,
  source: Source,
  { mode, owner, asked }: Wish,
): Promise<number> {
  const file = spot.status === null
    ? await make(files, spot, asked)
    : await openExisting(files, spot, asked);
  try {
    const written = await writeAll(file, source);
    const describing = describe(fd("file"), owner, mode);
    if (describing.length > 0) {
      await files.act(asked, describing, { place: "descriptors", fds: { file } }, () => {});
    }
    return written;
  } finally {
    closeQuietly(file);
  }
}

async function make(
  files: Files,
  { directory, leaf }: Spot,
  asked: Wish["asked"],
): Promise<number> {
  const steps = [enterOpen("directory"), makeFile(leaf, 0o644, "file")];
  const options = { place: "descriptors", fds: { directory }, opens: ["file"] } as const;
  return await files.act(asked, steps, options, (running) => running.output("file"));
}

async function openExisting(
  files: Files,
  { directory, leaf }: Spot,
  asked: Wish["asked"],
): Promise<number> {
  const steps = [
    enterOpen("directory"),
    openPath(leaf, { flags: O.O_PATH + O.O_NOFOLLOW, as: "found" }),
  ];
  const options = { place: "descriptors", fds: { directory }, opens: ["found"] } as const;
  const found = await files.act(asked, steps, options, (running) => running.output("found"));
  try {
    mustBeFile(statFd(found), asked);
    mustNotBeProc(found, asked);
    return await files.open(found, O.O_WRONLY | O.O_TRUNC, asked);
  } finally {
    closeQuietly(found);
  }
}

async function writeAll(file: number, source: Source): Promise<number> {
  const rest = slices();
  let written = 0;
  for await (const chunk of source) {
    for (let at = 0; at < chunk.length;) {
      const piece = chunk.subarray(at, at + PIECE_BYTES);
      at += write(file, piece);
      await rest();
    }
    written += chunk.length;
  }
  return written;
}

/** More than this is not written at once, so that others do not wait. */
const PIECE_BYTES = 1 << 20;

/** Whoever exists outside only is shown as nobody, and cannot be given it back. */
function ownerOf(status: FileStatus | null): FileOwner | null {
  if (status === null || status.uid === NOBODY || status.gid === NOBODY) return null;
  return { uid: status.uid, gid: status.gid };
}
