/** The SHA-256 of archives, remembered for as long as a file stays as it is. */
import { createHash } from "node:crypto";
import { AT, type FileStatus, isErrno, S, statAt } from "../../ffi/mod.ts";
import { ArchiveError, NotFoundError } from "../errors.ts";

const CHUNK_BYTES = 1 << 20;

/** An archive as it is now. */
export interface ArchiveFile {
  readonly path: string;
  readonly sizeBytes: number;
  /** Differs whenever the file may: device, inode, size and both times. */
  readonly identity: string;
  readonly ctimeNs: bigint;
}

/**
 * Looks at an archive.
 *
 * @throws {NotFoundError} If there is none.
 * @throws {ArchiveError} If it is no regular file, or may not be looked at.
 */
export function readArchiveFile(path: string): ArchiveFile {
  let status: FileStatus;
  try {
    status = statAt(AT.AT_FDCWD, path);
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) {
      throw new NotFoundError(`Cannot read the archive ${JSON.stringify(path)}: no such file`);
    }
    throw unreadable(path, error);
  }
  if ((status.mode & S.S_IFMT) !== S.S_IFREG) {
    const what = (status.mode & S.S_IFMT) === S.S_IFDIR ? "a directory" : "no regular file";
    throw new ArchiveError(`Cannot read the archive ${JSON.stringify(path)}: it is ${what}`);
  }
  const { device, inode, size, mtimeNs, ctimeNs } = status;
  const identity = [device, inode, size, mtimeNs, ctimeNs].join("-");
  return { path, sizeBytes: size, identity, ctimeNs };
}

/** Digests of archives by identity, as symbolic links that lead nowhere: each is one atomic call. */
export class DigestCache {
  readonly #dir: string;

  constructor(dir: string) {
    this.#dir = dir;
  }

  /** Gives the digest of an archive, if it is known. */
  get(archive: ArchiveFile): string | null {
    try {
      const text = Deno.readLinkSync(`${this.#dir}/${archive.identity}`);
      return /^[0-9a-f]{64}$/.test(text) ? text : null;
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
      return null;
    }
  }

  /** Remembers the digest of an archive, unless a change to it could have gone unseen. */
  set(archive: ArchiveFile, sha256: string): void {
    // A change so soon after the last one would leave the times as they were.
    const ticksNs = archive.ctimeNs % 1_000_000_000n === 0n ? 2_000_000_000n : 20_000_000n;
    if (BigInt(Date.now()) * 1_000_000n - archive.ctimeNs < ticksNs) return;
    try {
      Deno.symlinkSync(sha256, `${this.#dir}/${archive.identity}`);
    } catch (error) {
      if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
    }
  }
}

/**
 * Reads an archive once for its SHA-256, in hexadecimal.
 *
 * @throws {ArchiveError} If it cannot be read, or changes meanwhile.
 */
export async function hashArchive(
  archive: ArchiveFile,
  options: {
    readonly onProgress?: (bytesRead: number) => void;
    readonly signal?: AbortSignal | undefined;
  } = {},
): Promise<string> {
  const hash = createHash("sha256");
  const buffer = new Uint8Array(CHUNK_BYTES);
  try {
    using file = await Deno.open(archive.path);
    let bytesRead = 0;
    for (let n = await file.read(buffer); n !== null; n = await file.read(buffer)) {
      options.signal?.throwIfAborted();
      hash.update(buffer.subarray(0, n));
      bytesRead += n;
      options.onProgress?.(bytesRead);
    }
  } catch (error) {
    options.signal?.throwIfAborted();
    throw unreadable(archive.path, error);
  }
  checkUnchanged(archive);
  return hash.digest("hex");
}

/** Makes sure that an archive is still as it was. @throws {ArchiveError} If it is not. */
export function checkUnchanged(archive: ArchiveFile): void {
  if (readArchiveFile(archive.path).identity === archive.identity) return;
  throw new ArchiveError(
    `Cannot read the archive ${JSON.stringify(archive.path)}: it changed while it was read`,
    { remedy: "Try again once it is complete." },
  );
}

function unreadable(path: string, error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  return new ArchiveError(`Cannot read the archive ${JSON.stringify(path)}: ${error.message}`, {
    cause: error,
  });
}
