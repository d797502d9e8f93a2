/** The list of a layer's entries, written while it is unpacked: gzip around one JSON array a line. */
import { gunzipSync, gzipSync } from "node:zlib";
import { AT, close, O, openAt, SyscallError, write } from "../../ffi/mod.ts";
import { HostError } from "../errors.ts";

/** One thing in a layer as it was unpacked; of two with the same path the later one counts. */
export interface ListEntry {
  readonly kind: string;
  /** Beneath the layer's path, each character one byte; "" is the directory at the path. */
  readonly path: string;
  readonly mode: number;
  /** As a sandbox sees it. */
  readonly uid: number;
  readonly gid: number;
  readonly size: number;
  /** In nanoseconds since 1970. */
  readonly mtimeNs: bigint;
  /** A file's SHA-256 in hexadecimal; where a link of either kind leads; else empty. */
  readonly content: string;
}

/** What a piece of the list holds before it is compressed. */
const PIECE_CHARACTERS = 1 << 17;

/** Counted for each thing on the disk. */
const DISK_BLOCK = 4096;

/** Writes a list as it comes, in pieces that are compressed one by one. */
export class EntryListWriter implements Disposable {
  readonly #fd: number;
  #lines: string[] = [];
  #characters = 0;
  #diskBytes = 0;

  /** @param path A file that is there; what it holds is replaced. */
  constructor(path: string) {
    this.#fd = openAt(AT.AT_FDCWD, path, O.O_WRONLY | O.O_TRUNC | O.O_CLOEXEC);
  }

  /** About how much the entries take on the disk. */
  get diskBytes(): number {
    return this.#diskBytes;
  }

  /** Adds an entry. @throws {HostError} If it cannot be written. */
  readonly add = (entry: ListEntry): void => {
    const { kind, path, mode, uid, gid, size, mtimeNs, content } = entry;
    const line = JSON.stringify([kind, path, mode, uid, gid, size, String(mtimeNs), content]);
    this.#lines.push(line);
    this.#characters += line.length;
    if (kind === "directory" || (kind === "file" && size > 0)) {
      this.#diskBytes += Math.ceil(Math.max(size, 1) / DISK_BLOCK) * DISK_BLOCK;
    }
    if (this.#characters >= PIECE_CHARACTERS) this.finish();
  };

  /** Writes what has not been written yet. @throws {HostError} If it cannot be. */
  finish(): void {
    if (this.#lines.length === 0) return;
    const piece = gzipSync(this.#lines.join("\n") + "\n", { level: 1 });
    this.#lines = [];
    this.#characters = 0;
    const bytes = new Uint8Array(piece);
    try {
      for (let at = 0; at < bytes.length;) at += write(this.#fd, bytes.subarray(at));
    } catch (error) {
      if (!(error instanceof SyscallError)) throw error;
      throw new HostError(`Cannot write the list of a layer's files: ${error.message}`, {
        remedy: "Free some space, or use another store with --store DIR.",
        cause: error,
      });
    }
  }

  [Symbol.dispose](): void {
    close(this.#fd);
  }
}

/** An entry, and where it stood in the archive. */
export interface ReadEntry extends ListEntry {
  readonly order: number;
}

/**
 * Reads a list.
 *
 * @throws {Error} If it is damaged.
 */
export function parseEntryList(bytes: Uint8Array): Map<string, ReadEntry> {
  const text = bytes.length === 0 ? "" : new TextDecoder().decode(gunzipSync(bytes));
  const entries = new Map<string, ReadEntry>();
  let order = 0;
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const [kind, path, mode, uid, gid, size, mtime, content] = JSON.parse(line);
    if (kind === "mark" && entries.has(path)) continue;
    const mtimeNs = BigInt(mtime);
    entries.set(path, { kind, path, mode, uid, gid, size, mtimeNs, content, order: order++ });
  }
  return entries;
}
