/** A zip archive as a tar, so that it is unpacked by what unpacks tars. */
import { crc32 } from "node:zlib";
import type { Readable } from "node:stream";
import { ArchiveError, messageOf } from "../errors.ts";
import { BLOCK_BYTES, paddingOf } from "./block.ts";
import { encodeEntry } from "./encode.ts";
import type { PackedEntry } from "./entry.ts";
import type { ByteSource } from "./source.ts";

/** A member of a zip archive, as yauzl tells of it. */
interface ZipEntry {
  readonly fileName: Uint8Array;
  readonly crc32: number;
  readonly uncompressedSize: number;
  readonly externalFileAttributes: number;
  getLastModDate(): Date;
}

/** A zip archive, as yauzl opens it. */
interface ZipFile {
  eachEntry(): AsyncIterable<ZipEntry>;
  openReadStreamPromise(entry: ZipEntry): Promise<Readable>;
  close(): void;
}

/** Whose the files shall be. */
interface Owner {
  readonly uid: number;
  readonly gid: number;
}

interface Yauzl {
  openPromise(path: string, options: object): Promise<ZipFile>;
}

const SLASH = 0x2f;
/** The types of files in the upper half of a member's attributes (stat(2)). */
const S_IFMT = 0o170000;
const S_IFLNK = 0o120000;
const USUAL_MODE = { file: 0o644, directory: 0o755 } as const;

/**
 * Gives the members of a zip archive as a tar, all of one owner; links in it become files that hold their targets, as
 * Python makes them.
 *
 * @throws {ArchiveError} If it is damaged.
 */
export async function* zipToTar(path: string, name: string, owner: Owner): ByteSource {
  const { default: yauzl } = await import("yauzl") as unknown as { readonly default: Yauzl };
  let zip: ZipFile | undefined;
  let at: string | undefined;
  try {
    zip = await yauzl.openPromise(path, { autoClose: false, decodeStrings: false });
    for await (const entry of zip.eachEntry()) {
      at = new TextDecoder().decode(entry.fileName);
      yield* toTar(zip, entry, owner);
    }
    yield new Uint8Array(2 * BLOCK_BYTES);
  } catch (error) {
    throw new ArchiveError(`Cannot read the zip archive ${name}: ${messageOf(error)}`, {
      cause: error,
      ...(at === undefined ? {} : { entry: at }),
    });
  } finally {
    zip?.close();
  }
}

async function* toTar(zip: ZipFile, entry: ZipEntry, owner: Owner): ByteSource {
  const head = toEntry(entry, owner);
  yield encodeEntry(head);
  if (head.kind === "directory") return;
  let sum = 0;
  for await (const bytes of await zip.openReadStreamPromise(entry)) {
    sum = crc32(bytes, sum);
    yield new Uint8Array(bytes);
  }
  if (sum !== entry.crc32) throw new Error("the checksum of a member is wrong");
  yield new Uint8Array(paddingOf(head.size));
}

function toEntry(entry: ZipEntry, { uid, gid }: Owner): PackedEntry {
  const { fileName, uncompressedSize, externalFileAttributes } = entry;
  const isDirectory = fileName.at(-1) === SLASH;
  const kind = isDirectory ? "directory" : "file";
  const mode = externalFileAttributes >>> 16;
  const isLink = (mode & S_IFMT) === S_IFLNK;
  const isKnown = mode !== 0 && !isLink;
  return {
    kind,
    name: isDirectory ? fileName.subarray(0, -1) : fileName,
    target: new Uint8Array(),
    mode: isKnown ? mode & 0o777 : USUAL_MODE[kind],
    uid,
    gid,
    size: isDirectory ? 0 : uncompressedSize,
    extents: null,
    mtime: { seconds: Math.floor(entry.getLastModDate().getTime() / 1000), nanoseconds: 0 },
    xattrs: [],
  };
}
