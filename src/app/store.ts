/** Use cases on the store as a whole: what is in it, whether it is sound, what can go. */
import { type CatalogEntry, LIST } from "../store/mod.ts";
import {
  collectGarbage,
  type Fault,
  type GcItem,
  type GcReport,
  type GcWish,
  measureUsage,
  type Usage,
} from "../store/upkeep.ts";
import { bind } from "./worker_base.ts";
import type { Node } from "./node.ts";

export type { CatalogEntry, Fault, GcItem, GcReport, GcWish, Usage };

/** A layer that was compared with the list of its files. */
export interface Verified {
  readonly key: string;
  readonly path: string;
  readonly archive: string;
  readonly entries: number;
  readonly faults: readonly Fault[];
  /** Whether it was unpacked for other ids: its owners cannot be seen from here, and nothing was compared. */
  readonly isSkipped: boolean;
}

/** Told while layers are compared. */
export type OnVerify = (layer: CatalogEntry, hashedBytes: number) => void;

/**
 * Compares layers with the lists made when they were unpacked.
 *
 * @param prefixes Keys, or their starts; none for all layers.
 * @throws {NotFoundError | UsageError | HostError} If a layer cannot be found or read.
 */
export async function* verifyLayers(
  node: Node,
  prefixes: readonly string[],
  { onProgress = () => {}, signal }: { onProgress?: OnVerify; signal?: AbortSignal } = {},
): AsyncGenerator<Verified> {
  const { catalog } = node.store;
  const layers = prefixes.length === 0
    ? catalog.list()
    : prefixes.map((prefix) => catalog.find(prefix));
  for (const layer of layers) {
    using held = node.store.holdLayer({ ...layer, sha256: layer.archive.sha256 });
    if (held === null) continue; // it was removed in the meantime
    const { key, path, entries } = layer;
    const verified = { key, path, archive: layer.archive.name, entries };
    if (layer.idmap !== node.idmap) {
      yield { ...verified, faults: [], isSkipped: true };
      continue;
    }
    const faults: Fault[] = [];
    await node.worker.work({
      args: ["__verify", `/tree${layer.path}`, "/list"],
      binds: [
        bind(held.tree, "/tree"),
        bind(`${node.store.dir}/layers/${layer.key}/${LIST}`, "/list", { isDirectory: false }),
      ],
      signal,
      onMessage: (message) => {
        if ("fault" in message) faults.push(message.fault);
        if ("progress" in message) onProgress(layer, message.progress);
      },
    });
    yield { ...verified, faults, isSkipped: false };
  }
}

/** Removes what nothing uses. @throws {HostError} If something cannot be removed. */
export async function cleanStore(node: Node, wish: GcWish): Promise<GcReport> {
  return await collectGarbage(node.store, wish, node.remove);
}

/** Measures what the store takes. */
export function storeUsage(node: Node): Usage {
  return measureUsage(node.store);
}
