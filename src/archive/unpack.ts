/** Unpacks one archive beneath a directory, as a stream, whatever it holds. */
import { AT, close, O, openAt, SyscallError } from "../../ffi/mod.ts";
import { HostError } from "../errors.ts";
import { fromByteText } from "./byte_text.ts";
import type { Counts } from "./count.ts";
import { TarDecoder } from "./decode.ts";
import { refreshGitIndex } from "./git_refresh.ts";
import { DEFAULT_LIMITS, type UnpackLimits } from "./limit.ts";
import type { OwnerPolicy } from "./owner.ts";
import { Place, showName } from "./place.ts";
import { type EntryRecord, RecordingSink } from "./record.ts";
import { type ByteSource, openTar } from "./source.ts";
import { TreeWriter, type WritePolicy } from "./write.ts";

/** What one archive came to. */
export type UnpackSummary = Readonly<Counts>;

/** How an archive is unpacked. */
export interface UnpackOptions {
  /** The archive's name, for errors. */
  readonly name: string;
  /** `keep` gives files to the archive's ids where `isMapped`; `root` leaves them to us. */
  readonly owners: OwnerPolicy["owners"];
  /** Says whether an id can be held here; by default only 0. */
  readonly isMapped?: OwnerPolicy["isMapped"];
  /** `drop` takes setuid and setgid bits from all files; by default they stay where the owner does. */
  readonly setuid?: OwnerPolicy["setuid"];
  /** `oci` turns the whiteouts of an OCI layer into overlayfs's; by default they are plain files. */
  readonly whiteouts?: WritePolicy["whiteouts"];
  /** By default an archive that holds a device, other than a whiteout, is refused. */
  readonly devices?: WritePolicy["devices"];
  /** `refresh` has the indexes of git repositories know their files; by default they are left alone. */
  readonly gitIndex?: "keep" | "refresh";
  readonly limits?: Partial<UnpackLimits>;
  /** Called with the bytes of the archive read so far. */
  readonly onProgress?: (bytesRead: number) => void;
  /** Called with each entry once it is written; its content is hashed for this. */
  readonly onEntry?: (record: EntryRecord) => void;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Unpacks a tar, plain or in gzip, beneath a directory.
 *
 * @param input The archive's bytes.
 * @param root A descriptor of the directory; it stays open.
 * @throws {ArchiveError} If the archive is corrupt, unsafe, too large or of a kind we do not know.
 * @throws {HostError} If the file system refuses, as a full one does.
 */
export async function unpack(
  input: ByteSource,
  root: number,
  options: UnpackOptions,
): Promise<UnpackSummary> {
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const policy = {
    owners: options.owners,
    isMapped: options.isMapped ?? ((id: number) => id === 0),
    setuid: options.setuid ?? "keep",
    whiteouts: options.whiteouts ?? "plain",
    devices: options.devices ?? "refuse",
  };
  const place = new Place(options.name);
  using writer = new TreeWriter(root, { place, limits, policy });
  const sink = options.onEntry === undefined
    ? writer
    : new RecordingSink(writer, { place, policy, tell: options.onEntry });
  const decoder = new TarDecoder(sink, place);
  try {
    const tar = await openTar(watch(input, options), place);
    let left = limits.maxBytes;
    for await (const chunk of tar.bytes) {
      decoder.push(chunk.subarray(0, left)); // so that the error names the entry that goes too far
      left -= chunk.length;
      if (left < 0) {
        throw place.refuse(`goes past the ${limits.maxBytes} bytes that are allowed`);
      }
    }
    decoder.finish(tar.isSealed);
    writer.finish();
    for (const path of options.gitIndex === "refresh" ? writer.gitIndexes : []) {
      place.entry = fromByteText(path);
      const record = refreshGitIndex(root, path);
      if (record !== null) options.onEntry?.(record);
    }
  } catch (error) {
    throw error instanceof SyscallError ? explain(error, place) : error;
  }
  return { ...writer.counts };
}

/**
 * As `unpack`, beneath a directory given by its path.
 *
 * @throws {ArchiveError | HostError} As `unpack`.
 * @throws {SyscallError} If the directory cannot be opened.
 */
export async function unpackInto(
  dir: string,
  input: ByteSource,
  options: UnpackOptions,
): Promise<UnpackSummary> {
  const root = openAt(AT.AT_FDCWD, dir, O.O_DIRECTORY | O.O_CLOEXEC);
  try {
    return await unpack(input, root, options);
  } finally {
    close(root);
  }
}

async function* watch(input: ByteSource, options: UnpackOptions): ByteSource {
  let bytesRead = 0;
  for await (const chunk of input) {
    options.signal?.throwIfAborted();
    bytesRead += chunk.length;
    yield chunk;
    options.onProgress?.(bytesRead);
  }
}

function explain(error: SyscallError, place: Place): Error {
  if (error.code === "ENAMETOOLONG") return place.refuse("has a name that is too long", error);
  const entry = place.entry === null ? "" : ` at entry ${showName(place.entry)}`;
  const isFull = ["ENOSPC", "EDQUOT", "EROFS"].includes(error.code);
  return new HostError(`Cannot unpack ${JSON.stringify(place.archive)}${entry}: ${error.message}`, {
    cause: error,
    ...(isFull ? { remedy: "Free some space, or use another store with --store DIR." } : {}),
  });
}
