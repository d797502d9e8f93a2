/** Packs a live tree into a tar, plain or in gzip: the same tree gives the same bytes. */
import { SyscallError } from "../../ffi/mod.ts";
import { HostError } from "../errors.ts";
import { BLOCK_BYTES, paddingOf } from "./block.ts";
import { encodeEntry, storedBytes } from "./encode.ts";
import { PackPlace } from "./pack_place.ts";
import { type PackNote, TreeReader } from "./read_tree.ts";
import { gzip } from "./zlib.ts";

/** A tree that is packed. */
export interface PackPart {
  /** A descriptor of its root, open for reading; it stays open. */
  readonly dir: number;
  /** Where it stands in the archive: a path without a slash at either end, "" for the root. */
  readonly at: string;
}

/** How trees are packed. */
export interface PackOptions {
  /** What is packed, for errors. */
  readonly name: string;
  /** `keep` writes each file's own ids, `root` writes 0. */
  readonly owners: "keep" | "root";
  /** `keep` writes each file's own time, a number that one: seconds since 1970. */
  readonly mtime: "keep" | number;
  /** gzip's level, 1 to 9; null for a plain tar. */
  readonly level: number | null;
  /**
   * `oci` takes the tree for an overlay's upper and writes its whiteouts and opaque directories as
   * OCI layers have them; `plain` writes whiteouts as the devices that they are.
   */
  readonly whiteouts: "oci" | "plain";
  /** What happens when a file changes while it is read; by default the packing fails. */
  readonly onChange?: "fail" | "note";
  /** Told of what is left out, or not as it was. */
  readonly onNote?: (note: PackNote) => void;
  /** Called with the bytes of tar written so far. */
  readonly onProgress?: (bytes: number) => void;
  readonly signal?: AbortSignal | undefined;
}

const CHUNK_BYTES = 256 * 1024;

/**
 * Packs trees, in the order given, as one archive. Each starts with its own directory; what lies in a
 * directory follows it, sorted by the bytes of the names. What is given is valid until more is asked
 * for.
 *
 * @throws {ArchiveError} If a file changes while it is read, or cannot stand in an archive.
 * @throws {HostError} If the file system refuses.
 */
export async function* packTree(
  parts: readonly PackPart[],
  options: PackOptions,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const place = new PackPlace(options.name);
  const tar = watch(chunks(encodeTree(parts, place, options)), options);
  try {
    yield* options.level === null ? tar : gzip(tar, options.level);
  } catch (error) {
    throw error instanceof SyscallError ? explain(error, place) : error;
  }
}

function* encodeTree(
  parts: readonly PackPart[],
  place: PackPlace,
  options: PackOptions,
): Generator<Uint8Array> {
  const reader = new TreeReader(place, options);
  for (const { dir, at } of parts) {
    for (const { entry, content } of reader.read(dir, at)) {
      yield encodeEntry(entry);
      if (content === null) continue;
      yield* content;
      yield zeros(paddingOf(storedBytes(entry)));
    }
  }
  yield zeros(2 * BLOCK_BYTES);
}

/** Joins small pieces to one that is valid until the next is asked for. */
function* chunks(pieces: Iterable<Uint8Array>): Generator<Uint8Array<ArrayBuffer>> {
  const chunk = new Uint8Array(CHUNK_BYTES);
  let filled = 0;
  for (let piece of pieces) {
    while (piece.length > 0) {
      const part = piece.subarray(0, CHUNK_BYTES - filled);
      chunk.set(part, filled);
      filled += part.length;
      piece = piece.subarray(part.length);
      if (filled === CHUNK_BYTES) {
        yield chunk;
        filled = 0;
      }
    }
  }
  yield chunk.subarray(0, filled);
}

async function* watch(
  bytes: Iterable<Uint8Array<ArrayBuffer>>,
  { onProgress, signal }: PackOptions,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  let written = 0;
  for (const chunk of bytes) {
    signal?.throwIfAborted();
    written += chunk.length;
    yield chunk;
    onProgress?.(written);
  }
}

function zeros(length: number): Uint8Array {
  return new Uint8Array(length);
}

function explain(error: SyscallError, place: PackPlace): HostError {
  return new HostError(`${place.describe()}: ${error.message}`, { cause: error });
}
