/** Snapshots: what a sandbox wrote, kept by name as one more layer. */
import { HostError, NotFoundError } from "../errors.ts";
import type { Layer, Store } from "../store/mod.ts";
import { ensureLayers, type EnsureOptions } from "./layer.ts";

/** A snapshot as the store keeps it under its name. */
export interface SnapshotFile {
  /** The key of its layer. */
  readonly keys: readonly string[];
  /** The SHA-256 of the archive that it was packed to. */
  readonly sha256: string;
  /** The same of layers that lie below it, the lowest first: what a fork began with. */
  readonly below?: readonly string[];
  /** The ids that its layer was unpacked for. */
  readonly idmap: string;
  /** The base that lay below, if that has a name. */
  readonly needsBase: string | null;
  readonly entries: number;
  readonly bytes: number;
  /** ISO 8601. */
  readonly created: string;
}

/**
 * Gives what a run kept, under a name or in an archive, and holds it: the topmost layer last.
 *
 * @param place A name, or the path of an archive, which holds a slash.
 * @throws {NotFoundError | HostError | ArchiveError} If it cannot be used.
 */
export async function openKept(
  store: Store,
  place: string,
  options: EnsureOptions,
): Promise<Layer[]> {
  if (!place.includes("/")) return holdSnapshot(store, place, options.idmap);
  const wish = { archive: place, path: "/" };
  return await ensureLayers(store, [wish], { ...options, use: "base" });
}

/**
 * Finds a snapshot and holds its layers, the topmost last.
 *
 * @throws {NotFoundError | HostError} If it is not there, or was made for other ids.
 */
export function holdSnapshot(store: Store, name: string, idmap: string): Layer[] {
  const file = store.names.read<SnapshotFile>("snapshot", name);
  if (file.idmap !== idmap) {
    throw new HostError(`Cannot use snapshot "${name}": it was made for other ids than ours`);
  }
  const layers = [...file.below ?? [], file.sha256]
    .map((sha256) => store.holdLayer({ sha256, path: "/", idmap }));
  const held = layers.filter((layer) => layer !== null);
  if (held.length === layers.length) return held;
  for (const layer of held) layer[Symbol.dispose]();
  throw new NotFoundError(`Cannot use snapshot "${name}": its layer is gone`, {
    remedy: "Make it again by: minisandbox run --keep NAME.",
  });
}

/** Removes a snapshot, and its layer unless something uses it. @throws {NotFoundError} If none. */
export async function removeSnapshot({ names, catalog }: Store, name: string): Promise<void> {
  const { keys } = names.read<SnapshotFile>("snapshot", name);
  names.remove("snapshot", name);
  for (const key of keys) await catalog.removeUnused(key);
}
