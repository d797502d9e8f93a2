/** Use case: all layers that a sandbox is made of, unpacked where they are not yet. */
import { pooledMap } from "@std/async/pool";
import type {
  BuildJob,
  Layer,
  LayerPhase,
  LayerRequest,
  SetuidPolicy,
  Store,
} from "../store/mod.ts";
import type { IoBudget, Share } from "../budget/mod.ts";
import type { UnpackLimits, UnpackSummary } from "../archive/mod.ts";
import { NotFoundError } from "../errors.ts";
import { checkDistinct, parseLayerPath } from "./layer_path.ts";

/** An archive, and where it is to be shown. */
export interface LayerWish {
  /** The archive's path; it may be absent where the SHA-256 is given and the layer is there. */
  readonly archive?: string;
  /** The archive's SHA-256, in hexadecimal. */
  readonly sha256?: string;
  /** Absolute. */
  readonly path: string;
}

/** What a layer was unpacked to. */
export interface Built extends UnpackSummary {
  /** About what it takes on the disk. */
  readonly diskBytes: number;
}

/** For a sandbox, no two layers may be shown at one path; a base lies at the root. */
export type LayerUse = "sandbox" | "import" | "base";

/** What is being done for one of the layers. */
export interface LayerEvent {
  readonly layer: LayerWish;
  /** `queued`: it waits for the I/O budget; `sync`: it is written out. */
  readonly phase: LayerPhase | "queued" | "sync" | "ready";
  /** Bytes of the archive. */
  readonly done: number;
  readonly total: number;
}

/** Unpacks `job.archive` into `job.at`, which is empty and lies in `job.tree`. */
export type Unpack = (job: BuildJob) => Promise<Built>;

/** What is taken from archives. */
export interface ArchivePolicy {
  readonly setuid: SetuidPolicy;
  readonly limits: Partial<UnpackLimits>;
}

/** How layers are ensured. */
export interface EnsureOptions {
  /** Which ids are mapped. */
  readonly idmap: string;
  /** Whether files keep their setuid and setgid bits: they do, if it is not said. */
  readonly setuid?: SetuidPolicy;
  readonly unpack: Unpack;
  /** What may be unpacked at once; without one, all. */
  readonly budget?: IoBudget;
  /** How many are made at once. */
  readonly jobs?: number;
  /** What they are for; a sandbox, if it is not said. */
  readonly use?: LayerUse;
  readonly onEvent?: (event: LayerEvent) => void;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Finds layers that are all in the store, without waiting; null if one is not.
 *
 * @throws {UsageError | NotFoundError | ArchiveError} If a path or an archive cannot be used.
 */
export function findLayers(
  store: Store,
  wishes: readonly LayerWish[],
  options: Pick<EnsureOptions, "idmap" | "setuid" | "use">,
): Layer[] | null {
  const requests = toRequests(wishes, options);
  const found: Layer[] = [];
  for (const request of requests) {
    const layer = findLayer(store, request);
    if (layer === null) {
      release(found);
      return null;
    }
    found.push(layer);
  }
  return found;
}

/**
 * Gives all layers, in order, held until they are disposed of; makes those that are missing.
 *
 * @throws {UsageError | NotFoundError | ArchiveError | HostError} The first failure; none is held.
 */
export async function ensureLayers(
  store: Store,
  wishes: readonly LayerWish[],
  options: EnsureOptions,
): Promise<Layer[]> {
  const { jobs = 2, onEvent = () => {}, signal } = options;
  const ready = findLayers(store, wishes, options);
  if (ready !== null) {
    try {
      for (const layer of isKept(options) ? ready : []) await store.settle(layer);
      return ready;
    } catch (error) {
      release(ready);
      throw error;
    }
  }

  const stop = new AbortController();
  const both = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]);
  const layers: Layer[] = [];
  const ensure = async ([i, request]: [number, Request]): Promise<void> => {
    const layer = wishes[i]!;
    let total = -1;
    const tell = (phase: LayerEvent["phase"], done: number) =>
      onEvent({ layer, phase, done, total });
    const onProgress = (phase: LayerPhase, done: number, bytes: number) => {
      total = bytes;
      if (phase !== "unpack") tell(phase, done);
    };
    const held = new DisposableStack(); // the share of the budget, until the disk has all
    const hold = (share: Share) => held.use(share);
    try {
      both.throwIfAborted();
      const build: Unpack = (job) => unpackWithin(job, options, { total, hold, tell });
      layers[i] = findLayer(store, request) ??
        await store.ensureLayer(mustHaveArchive(request), build, { onProgress, signal: both });
      const settled = store.settle(layers[i]).finally(() => held.dispose());
      if (!isKept(options)) void settled.catch(() => {}); // told when all are settled
      else {
        tell("sync", total);
        await settled;
      }
    } catch (error) {
      held.dispose();
      stop.abort(error);
      throw error;
    }
    if (total >= 0) onEvent({ layer, phase: "ready", done: total, total });
  };
  try {
    await Array.fromAsync(pooledMap(jobs, toRequests(wishes, options).entries(), ensure));
  } catch (error) {
    release(layers);
    if (stop.signal.aborted) throw stop.signal.reason;
    throw error;
  }
  return layers;
}

/** A sandbox needs layers now; whoever imports them wants them to stay. */
function isKept({ use = "sandbox" }: Pick<EnsureOptions, "use">): boolean {
  return use !== "sandbox";
}

/** Unpacks once the budget allows it. */
async function unpackWithin(
  job: BuildJob,
  { unpack, budget }: EnsureOptions,
  { total, hold, tell }: {
    readonly total: number;
    readonly hold: (share: Share) => void;
    readonly tell: (phase: LayerEvent["phase"], done: number) => void;
  },
): Promise<Built> {
  const { signal } = job;
  const share = await budget?.reserve(total, { onWait: () => tell("queued", 0), signal });
  if (share !== undefined) hold(share);
  tell("unpack", 0);
  const onProgress = (read: number) => {
    share?.note(read);
    tell("unpack", read);
  };
  const summary = await unpack({ ...job, onProgress });
  share?.finish(summary.bytes);
  return summary;
}

/** Unpacks in this process: for tests, and where nothing confines. */
export async function unpackHere(job: BuildJob): Promise<Built> {
  // Not read by starts that unpack nothing.
  const { unpackInto } = await import("../archive/mod.ts");
  const { EntryListWriter } = await import("../store/upkeep.ts");
  const { archive, at, onProgress, signal } = job;
  const file = await Deno.open(archive);
  using list = new EntryListWriter(job.list);
  const common = { name: archive, owners: "root", gitIndex: "refresh" } as const;
  const options = { ...common, setuid: job.setuid, onProgress, onEntry: list.add, signal };
  const summary = await unpackInto(at, file.readable, options);
  list.finish();
  return { ...summary, diskBytes: list.diskBytes };
}

type Request = Omit<LayerRequest, "archive"> & { readonly archive?: string };

function toRequests(
  wishes: readonly LayerWish[],
  { idmap, setuid = "keep", use = "sandbox" }: Pick<EnsureOptions, "idmap" | "setuid" | "use">,
): Request[] {
  const requests = wishes.map((wish) => ({
    ...wish,
    path: use === "base" ? "/" : parseLayerPath(wish.path),
    idmap,
    setuid,
  }));
  if (use === "sandbox") checkDistinct(requests.map(({ path }) => path));
  return requests;
}

/** What is known by its digest is there whatever has become of the archive. */
function findLayer(store: Store, request: Request): Layer | null {
  const { archive, sha256 } = request;
  const known = sha256 === undefined ? null : store.holdLayer({ ...request, sha256 });
  if (known !== null || archive === undefined) return known;
  return sha256 === undefined ? store.findLayer({ ...request, archive }) : null;
}

function mustHaveArchive({ archive, ...rest }: Request): LayerRequest {
  if (archive !== undefined) return { ...rest, archive };
  throw new NotFoundError(`Cannot show a layer at "${rest.path}": ${rest.sha256} is not here`, {
    remedy: `Import its archive: minisandbox layer import ARCHIVE:${rest.path}.`,
  });
}

function release(layers: readonly Layer[]): void {
  for (const layer of layers) layer?.[Symbol.dispose]();
}
