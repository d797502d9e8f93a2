/** A layer made: in a directory of its own, and only when it is whole given its name. */
import { basename } from "@std/path/basename";
import { type ArchiveFile, checkUnchanged } from "./digest.ts";
import type { SetuidPolicy } from "./key.ts";
import type { Manifest } from "./layer.ts";
import { type RemoveTree, removeTree } from "./remove.ts";
import { writeOut } from "./unwritten.ts";
import { makeWorkDir } from "./work.ts";

/** So often what is being unpacked is written out. */
const WRITE_OUT_MS = 2000;

/** The name of the list of entries beside a layer's tree. */
export const LIST = "entries.gz";

/** What `BuildTree` is to do. */
export interface BuildJob {
  /** The archive's path. */
  readonly archive: string;
  /** The layer's root directory. */
  readonly tree: string;
  /** The empty directory within it that the archive belongs in. */
  readonly at: string;
  /** The empty file that the list of entries belongs in (`EntryListWriter`). */
  readonly list: string;
  readonly setuid: SetuidPolicy;
  readonly onProgress: (bytesRead: number) => void;
  readonly signal: AbortSignal | undefined;
}

/** Fills a layer's tree, and says what it came to. */
export type BuildTree = (
  job: BuildJob,
) => Promise<Pick<Manifest, "entries" | "bytes" | "diskBytes" | "ownersLost">>;

/** The layer to make. */
export interface BuildRequest {
  readonly key: string;
  readonly archive: ArchiveFile;
  readonly sha256: string;
  readonly path: string;
  readonly idmap: string;
  readonly setuid?: SetuidPolicy;
  readonly build: BuildTree;
  readonly onProgress: (bytesRead: number) => void;
  readonly signal: AbortSignal | undefined;
}

/**
 * Makes a layer; whatever happens on the way, there is a whole one afterwards or none. The disk may not
 * have all of it yet.
 *
 * @param store The store's directory.
 */
export async function buildLayer(
  store: string,
  request: BuildRequest,
  remove: RemoveTree = removeTree,
): Promise<void> {
  const { archive, build, idmap, key, path, setuid = "keep", sha256, signal } = request;
  using work = makeWorkDir(`${store}/tmp`, 0o755);
  try {
    const tree = `${work.dir}/tree`;
    const at = makeParents(tree, path);
    const list = `${work.dir}/${LIST}`;
    Deno.writeTextFileSync(list, "");
    const { onProgress } = request;
    const job = { archive: archive.path, tree, at, list, setuid, onProgress, signal };
    const built = await writingOut(work.dir, () => build(job));
    signal?.throwIfAborted();
    checkUnchanged(archive);
    const manifest: Manifest = {
      archive: { name: basename(archive.path), sha256 },
      path,
      idmap,
      ...(setuid === "keep" ? {} : { setuid }),
      entries: built.entries,
      bytes: built.bytes,
      diskBytes: built.diskBytes,
      ownersLost: built.ownersLost,
      created: new Date().toISOString(),
    };
    Deno.writeTextFileSync(`${work.dir}/manifest.json`, JSON.stringify(manifest, null, 2) + "\n");
    Deno.writeTextFileSync(`${work.dir}/lock`, "");
    Deno.renameSync(work.dir, `${store}/layers/${key}`);
  } catch (error) {
    try {
      await remove(work.dir);
    } catch (second) {
      throw new SuppressedError(second, error);
    }
    throw error;
  }
}

function makeParents(tree: string, path: string): string {
  let dir = tree;
  for (const part of ["", ...path.split("/").filter((it) => it !== "")]) {
    dir = part === "" ? dir : `${dir}/${part}`;
    Deno.mkdirSync(dir);
    Deno.chmodSync(dir, 0o755); // whatever the umask
  }
  return dir;
}

/** Has the disk take what is being built every now and then, so that little is left at the end. */
async function writingOut<T>(dir: string, work: () => Promise<T>): Promise<T> {
  // The first time it takes the layer's mark, which must be there before the layer.
  const first = writeOut(dir);
  let running: Promise<void> | null = null;
  const write = (written: Promise<void>) => {
    // What fails on the way fails at the end, too, where it is told.
    running = written.catch(() => {}).finally(() => running = null);
  };
  write(first);
  const timer = setInterval(() => running ?? write(writeOut(dir)), WRITE_OUT_MS);
  try {
    const result = await work();
    await first;
    return result;
  } finally {
    clearInterval(timer);
  }
}
