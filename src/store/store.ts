/** The store on disk: layers, and the directories of processes at work. */
import { AT, close, O, openAt } from "../../ffi/mod.ts";
import { basename } from "@std/path/basename";
import { NotFoundError, UsageError } from "../errors.ts";
import { buildLayer, type BuildTree } from "./build.ts";
import { type ArchiveFile, DigestCache, hashArchive, readArchiveFile } from "./digest.ts";
import { makeStore } from "./directory.ts";
import { explainFailure } from "./failure.ts";
import { layerKey } from "./key.ts";
import { holdLayer, type Layer, type LayerInfo, listLayers, tryLockUnused } from "./layer.ts";
import { Lock } from "./lock.ts";
import { type RemoveTree, removeTree } from "./remove.ts";
import { ensureTree, treePath } from "./tree.ts";
import { makeWorkDir, sweepForeign, sweepWorkDirs, type WorkDir } from "./work.ts";

/** The layer that is wanted. */
export interface LayerRequest {
  /** The archive's path. */
  readonly archive: string;
  /** Where it is shown: absolute, without `..` or a slash at its end. */
  readonly path: string;
  /** Which ids are mapped: layers of different mappings are different layers. */
  readonly idmap: string;
}

/** What is being done for a layer. */
export type LayerPhase = "hash" | "wait" | "unpack";

/** Told while a layer is made: `done` of `total` bytes of the archive. */
export type LayerProgress = (phase: LayerPhase, done: number, total: number) => void;

/** A store. */
export class Store {
  /** Its directory. */
  readonly dir: string;
  readonly #digests: DigestCache;
  readonly #remove: RemoveTree;

  private constructor(dir: string, remove: RemoveTree) {
    this.dir = dir;
    this.#digests = new DigestCache(`${dir}/digests`);
    this.#remove = remove;
  }

  /**
   * Opens a store, and makes it if it is not there.
   *
   * @param dir Its directory.
   * @param options How to remove trees whose files may belong to mapped ids.
   * @throws {HostError} If it cannot be made.
   * @throws {UsageError} If the directory holds other things.
   */
  static open(dir: string, options: { readonly remove?: RemoveTree } = {}): Store {
    try {
      makeStore(dir);
    } catch (error) {
      throw explainFailure(dir, error);
    }
    return new Store(dir, options.remove ?? removeTree);
  }

  /**
   * Finds a layer whose archive is known, and holds it; null if there is work to do.
   *
   * @throws {NotFoundError | ArchiveError} If there is no such archive.
   */
  findLayer(request: LayerRequest): Layer | null {
    const sha256 = this.#digests.get(readArchiveFile(request.archive));
    return sha256 === null ? null : this.#hold(sha256, request);
  }

  /**
   * Gives a layer and holds it; makes it first if no process has made it yet.
   *
   * @param build Fills the tree.
   * @throws {ArchiveError | NotFoundError | HostError} If it cannot be made.
   */
  async ensureLayer(
    request: LayerRequest,
    build: BuildTree,
    options: { readonly onProgress?: LayerProgress; readonly signal?: AbortSignal | undefined } =
      {},
  ): Promise<Layer> {
    const { onProgress = () => {}, signal } = options;
    const archive = readArchiveFile(request.archive);
    const total = archive.sizeBytes;
    try {
      const sha256 = this.#digests.get(archive) ?? await this.#hash(archive, onProgress, signal);
      const key = layerKey({ ...request, sha256 });
      for (;;) {
        const ready = this.#hold(sha256, request);
        if (ready !== null) return ready;
        using _lock = await Lock.take(`${this.dir}/locks/${key}.lock`, {
          onWait: () => onProgress("wait", 0, total),
          signal,
        });
        // Another process may have made it while we waited.
        const made = this.#hold(sha256, request);
        if (made !== null) return made;
        onProgress("unpack", 0, total);
        const onBytes = (done: number) => onProgress("unpack", done, total);
        const job = { ...request, archive, sha256, key, build, signal, onProgress: onBytes };
        await buildLayer(this.dir, job, this.#remove);
        onProgress("unpack", total, total);
      }
    } catch (error) {
      throw explainFailure(this.dir, error);
    }
  }

  /**
   * Gives the tree of this name; `build` makes it in an empty directory if it is not there.
   *
   * @throws {HostError} If it cannot be made.
   */
  async ensureTree(name: string, build: (dir: string) => void): Promise<string> {
    try {
      return await ensureTree(this.dir, name, build, this.#remove);
    } catch (error) {
      throw explainFailure(this.dir, error);
    }
  }

  /** Tells where the tree of this name lies, or would lie. */
  treePath(name: string): string {
    return treePath(this.dir, name);
  }

  /** Describes each layer. */
  listLayers(): LayerInfo[] {
    return listLayers(`${this.dir}/layers`);
  }

  /**
   * Removes a layer.
   *
   * @param prefix Its key, or as much of its start as is needed.
   * @returns Its whole key.
   * @throws {NotFoundError} If there is none.
   * @throws {UsageError} If several have that start, or something uses it.
   */
  async removeLayer(prefix: string): Promise<string> {
    const key = this.#findKey(prefix);
    const from = `${this.dir}/layers/${key}`;
    try {
      using work = makeWorkDir(`${this.dir}/tmp`, 0o755);
      try {
        moveUnused(from, `${work.dir}/layer`);
      } finally {
        await this.#remove(work.dir);
      }
    } catch (error) {
      throw explainFailure(this.dir, error);
    }
    return key;
  }

  /**
   * Makes the directory of one run.
   *
   * @param parent Where, if not in the store; what our dead left there is removed first.
   * @throws {HostError} If it cannot be made.
   */
  async openRun(parent: string | null): Promise<WorkDir & AsyncDisposable> {
    const dir = parent ?? `${this.dir}/runs`;
    try {
      if (parent !== null) {
        Deno.mkdirSync(parent, { recursive: true, mode: 0o711 });
        await sweepForeign(parent, this.#remove);
      }
      const work = makeWorkDir(dir, 0o700); // set-uid programs in it are for nobody else
      return {
        ...work,
        [Symbol.asyncDispose]: async () => {
          using _lock = work;
          await this.#remove(work.dir);
        },
      };
    } catch (error) {
      throw explainFailure(dir, error);
    }
  }

  /** Removes what processes that have died left behind, and says how many directories that were. */
  async sweep(): Promise<number> {
    const removed = await sweepWorkDirs(`${this.dir}/runs`, this.#remove);
    return removed + await sweepWorkDirs(`${this.dir}/tmp`, this.#remove);
  }

  #hold(sha256: string, request: LayerRequest): Layer | null {
    return holdLayer(`${this.dir}/layers`, layerKey({ ...request, sha256 }), request.path);
  }

  async #hash(
    archive: ArchiveFile,
    onProgress: LayerProgress,
    signal: AbortSignal | undefined,
  ): Promise<string> {
    onProgress("hash", 0, archive.sizeBytes);
    const sha256 = await hashArchive(archive, {
      onProgress: (done) => onProgress("hash", done, archive.sizeBytes),
      signal,
    });
    this.#digests.set(archive, sha256);
    return sha256;
  }

  #findKey(prefix: string): string {
    const keys = [...Deno.readDirSync(`${this.dir}/layers`)].map(({ name }) => name);
    const found = keys.filter((key) => key.startsWith(prefix));
    if (prefix === "" || found.length === 0) {
      throw new NotFoundError(`Cannot find layer ${JSON.stringify(prefix)}: no such layer`, {
        remedy: "See the keys by: minisandbox layer list.",
      });
    }
    if (found.length > 1) {
      throw new UsageError(
        `Cannot find layer ${JSON.stringify(prefix)}: ${found.length} keys start so`,
        { remedy: "Give more of the key." },
      );
    }
    return found[0]!;
  }
}

/** Takes a layer's name from it, so that nothing can begin to use it, unless something does. */
function moveUnused(layer: string, to: string): void {
  const fd = openAt(AT.AT_FDCWD, `${layer}/lock`, O.O_CLOEXEC);
  try {
    if (!tryLockUnused(fd)) {
      throw new UsageError(`Cannot remove layer ${basename(layer)}: it is in use`, {
        remedy: "End the sandboxes that use it, then try again.",
      });
    }
    Deno.renameSync(layer, to);
  } finally {
    close(fd);
  }
}
