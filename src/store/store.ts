/** The store on disk: layers, and the directories of processes at work. */
import { ArchiveError } from "../errors.ts";
import { buildLayer, type BuildTree } from "./build.ts";
import { Catalog } from "./catalog.ts";
import { type ArchiveFile, DigestCache, hashArchive, readArchiveFile } from "./digest.ts";
import { makeStore } from "./directory.ts";
import { explainFailure } from "./failure.ts";
import { layerKey, type SetuidPolicy } from "./key.ts";
import { holdLayer, type Layer } from "./layer.ts";
import { Lock, sweepLocks } from "./lock.ts";
import { NameShelf } from "./name.ts";
import { type RemoveTree, removeTree } from "./remove.ts";
import { makeRunDir, sweepRunDirs } from "./run_dir.ts";
import { TreeShelf } from "./tree.ts";
import { Unwritten } from "./unwritten.ts";
import { makeWorkDir, sweepWorkDirs, type WorkDir } from "./work.ts";

/** A layer by its content. */
export interface LayerIdentity {
  /** The SHA-256 of its archive. */
  readonly sha256: string;
  /** Where it is shown: absolute, without `..` or a slash at its end. */
  readonly path: string;
  /** Which ids are mapped: layers of different mappings are different layers. */
  readonly idmap: string;
  /** Kept, if it is not said: layers of another policy are other layers. */
  readonly setuid?: SetuidPolicy;
}

/** The layer that is wanted. */
export interface LayerRequest extends Omit<LayerIdentity, "sha256"> {
  /** The archive's path. */
  readonly archive: string;
  /** What its SHA-256 must be, where something says so. */
  readonly sha256?: string;
}

/** What is being done for a layer. */
export type LayerPhase = "hash" | "wait" | "unpack";

/** Told while a layer is made: `done` of `total` bytes of the archive. */
export type LayerProgress = (phase: LayerPhase, done: number, total: number) => void;

/** A directory that is removed when it is disposed of. */
export type Scratch = WorkDir & AsyncDisposable;

/** A store. */
export class Store implements Disposable {
  /** Its directory. */
  readonly dir: string;
  /** Its layers, as a person sees them. */
  readonly catalog: Catalog;
  /** What has a name in it. */
  readonly names: NameShelf;
  readonly #digests: DigestCache;
  readonly #trees: TreeShelf;
  readonly #unwritten: Unwritten;
  readonly #remove: RemoveTree;

  private constructor(dir: string, remove: RemoveTree) {
    this.dir = dir;
    this.names = new NameShelf(dir, remove);
    this.catalog = new Catalog(dir, this.names, remove);
    this.#digests = new DigestCache(`${dir}/digests`);
    this.#trees = new TreeShelf(dir, remove);
    this.#unwritten = new Unwritten(dir, remove);
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
    return sha256 === null ? null : this.holdLayer({ ...request, sha256 });
  }

  /** Finds a layer by its content and holds it; null if it is not there. */
  holdLayer(identity: LayerIdentity): Layer | null {
    return holdLayer(`${this.dir}/layers`, { ...identity, key: layerKey(identity) });
  }

  /**
   * Gives a layer and holds it; makes it first if no process has made it yet. It can be used at once,
   * while the disk takes it: see `settle`.
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
      checkDigest(request, sha256);
      const identity = { ...request, sha256 };
      const key = layerKey(identity);
      for (;;) {
        const ready = this.holdLayer(identity);
        if (ready !== null) return ready;
        using _lock = await Lock.take(`${this.dir}/locks/${key}.lock`, {
          onWait: () => onProgress("wait", 0, total),
          signal,
        });
        // Another process may have made it while we waited.
        const made = this.holdLayer(identity);
        if (made !== null) return made;
        onProgress("unpack", 0, total);
        const onBytes = (done: number) => onProgress("unpack", done, total);
        const job = { ...identity, archive, key, build, signal, onProgress: onBytes };
        const mark = await this.#unwritten.mark(key);
        try {
          await buildLayer(this.dir, job, this.#remove);
        } catch (error) {
          mark[Symbol.dispose]();
          throw error;
        }
        this.#unwritten.begin(key, mark);
        onProgress("unpack", total, total);
      }
    } catch (error) {
      throw explainFailure(this.dir, error);
    }
  }

  /**
   * Resolves once the disk has a layer, or all that were made by this process.
   *
   * @throws {HostError} If it cannot take one: that one is gone then, and must be made again.
   */
  async settle(layer?: Layer): Promise<void> {
    try {
      await (layer === undefined ? this.#unwritten.settleAll() : this.#unwritten.settle(layer.key));
    } catch (error) {
      throw explainFailure(this.dir, error);
    }
  }

  /**
   * Gives the tree of this name; `build` makes it in an empty directory if it is not there. It stays
   * until the store is disposed of.
   *
   * @throws {HostError} If it cannot be made.
   */
  async ensureTree(name: string, build: (dir: string) => void): Promise<string> {
    try {
      return await this.#trees.ensure(name, build);
    } catch (error) {
      throw explainFailure(this.dir, error);
    }
  }

  /** Tells where the tree of this name lies, or would lie. */
  treePath(name: string): string {
    return this.#trees.path(name);
  }

  /**
   * Makes the directory of one run.
   *
   * @param parent Where, if not in the store; what our dead left there is removed first.
   * @throws {HostError} If it cannot be made.
   */
  async openRun(parent: string | null): Promise<Scratch> {
    const dir = parent ?? `${this.dir}/runs`;
    try {
      if (parent !== null) {
        Deno.mkdirSync(parent, { recursive: true, mode: 0o711 });
        await sweepRunDirs(parent, this.#remove, { isForeign: true });
      }
      return this.#scratch(makeRunDir(dir)); // set-uid programs in it are for nobody else
    } catch (error) {
      throw explainFailure(dir, error);
    }
  }

  /** Makes a directory for work on the way into the store. @throws {HostError} If it cannot be. */
  openScratch(): Scratch {
    try {
      return this.#scratch(makeWorkDir(`${this.dir}/tmp`, 0o700));
    } catch (error) {
      throw explainFailure(this.dir, error);
    }
  }

  /** Removes what processes that have died left behind, and says how many directories that were. */
  async sweep(): Promise<number> {
    sweepLocks(`${this.dir}/locks`);
    const removed = await sweepRunDirs(`${this.dir}/runs`, this.#remove, { isForeign: false });
    const damaged = await this.#unwritten.sweep();
    return removed + damaged + await sweepWorkDirs(`${this.dir}/tmp`, this.#remove);
  }

  /** Lets trees go. */
  [Symbol.dispose](): void {
    this.#trees[Symbol.dispose]();
  }

  #scratch(work: WorkDir): Scratch {
    return {
      ...work,
      [Symbol.asyncDispose]: async () => {
        using _lock = work;
        await this.#remove(work.dir);
      },
    };
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
}

function checkDigest({ archive, sha256: wanted }: LayerRequest, sha256: string): void {
  if (wanted === undefined || wanted === sha256) return;
  throw new ArchiveError(
    `Cannot use the archive ${JSON.stringify(archive)}: its SHA-256 is ${sha256}, not ${wanted}`,
    { remedy: "It is damaged, or another one: get it again." },
  );
}
