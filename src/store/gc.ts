/** Takes out of a store what nothing uses. */
import { isErrno } from "../../ffi/mod.ts";
import { moveUnused, readUse } from "./hold.ts";
import type { RemoveTree } from "./remove.ts";
import type { Store } from "./store.ts";
import { directorySize } from "./usage.ts";
import { makeWorkDir } from "./work.ts";

/** What to remove, beside what can be of no use any more. */
export interface GcWish {
  /** Unused layers go, the one longest unused first, until all layers take no more than this. */
  readonly maxBytes: number | null;
  /** Layers that have not been used for so long go. */
  readonly olderThanMs: number | null;
  /** Whether only to tell what would go. */
  readonly isDryRun: boolean;
}

/** Something that was removed, or would be. */
export interface GcItem {
  readonly kind: "layer" | "tree" | "digest" | "leftover";
  readonly name: string;
  readonly bytes: number;
  /** ISO 8601; null where it is not known. */
  readonly lastUsed: string | null;
}

/** What a collection came to. */
export interface GcReport {
  readonly removed: readonly GcItem[];
  readonly freedBytes: number;
  /** What the layers take that stay. */
  readonly keptBytes: number;
}

/** Trees are soon made again, but not at once: those of a base host take seconds. */
const TREE_AGE_MS = 30 * 86_400_000;

/**
 * Collects; what is in use, or needed by a base, an environment or a snapshot, stays.
 *
 * @param remove Removes a tree, whoever owns what is in it.
 * @throws {HostError} If something cannot be removed.
 */
export async function collectGarbage(
  store: Store,
  wish: GcWish,
  remove: RemoveTree,
): Promise<GcReport> {
  const { isDryRun } = wish;
  const removed: GcItem[] = [];
  const swept = isDryRun ? 0 : await store.sweep();
  if (swept > 0) removed.push(item("leftover", `${swept} directories of dead processes`));
  const layers = await collectLayers(store, wish);
  removed.push(...layers.removed);
  removed.push(...await collectTrees(store, wish, remove));
  const gone = new Set(isDryRun ? removed.map(({ name }) => name) : []);
  removed.push(...collectDigests(store, gone, isDryRun));
  const freedBytes = removed.reduce((sum, { bytes }) => sum + bytes, 0);
  return { removed, freedBytes, keptBytes: layers.keptBytes };
}

async function collectLayers(
  { catalog }: Store,
  { maxBytes, olderThanMs, isDryRun }: GcWish,
): Promise<{ readonly removed: GcItem[]; readonly keptBytes: number }> {
  const layers = catalog.list();
  const oldest = layers.filter(({ isInUse, usedBy }) => !isInUse && usedBy.length === 0)
    .sort((a, b) => a.lastUsed < b.lastUsed ? -1 : 1);
  const before = olderThanMs === null ? "" : new Date(Date.now() - olderThanMs).toISOString();
  let keptBytes = layers.reduce((sum, { diskBytes }) => sum + diskBytes, 0);
  const removed: GcItem[] = [];
  for (const { key, diskBytes, lastUsed } of oldest) {
    const isTooMuch = maxBytes !== null && keptBytes > maxBytes;
    if (lastUsed >= before && !isTooMuch) break;
    if (!isDryRun && !await catalog.removeUnused(key)) continue;
    keptBytes -= diskBytes;
    removed.push(item("layer", key, diskBytes, lastUsed));
  }
  return { removed, keptBytes };
}

async function collectTrees(
  { dir }: Store,
  { olderThanMs, isDryRun }: GcWish,
  remove: RemoveTree,
): Promise<GcItem[]> {
  const before = new Date(Date.now() - (olderThanMs ?? TREE_AGE_MS)).toISOString();
  const removed: GcItem[] = [];
  for (const { name } of Deno.readDirSync(`${dir}/skeletons`)) {
    const path = `${dir}/skeletons/${name}`;
    const use = tryReadUse(path);
    if (use === null || use.isInUse || use.lastUsed >= before) continue;
    const bytes = directorySize(path);
    if (!isDryRun) {
      using work = makeWorkDir(`${dir}/tmp`, 0o755);
      const isMoved = moveUnused(path, `${work.dir}/tree`, () => false);
      await remove(work.dir);
      if (!isMoved) continue;
    }
    removed.push(item("tree", name, bytes, use.lastUsed));
  }
  return removed;
}

/** A digest is of use for as long as a layer of its archive is there. */
function collectDigests({ dir, catalog }: Store, gone: Set<string>, isDryRun: boolean): GcItem[] {
  const known = new Set(
    catalog.list().filter(({ key }) => !gone.has(key)).map(({ archive }) => archive.sha256),
  );
  return [...Deno.readDirSync(`${dir}/digests`)].flatMap(({ name }) => {
    const path = `${dir}/digests/${name}`;
    if (known.has(Deno.readLinkSync(path))) return [];
    if (!isDryRun) Deno.removeSync(path);
    return [item("digest", name)];
  });
}

function tryReadUse(path: string): ReturnType<typeof readUse> | null {
  try {
    return readUse(path);
  } catch (error) {
    if (!isErrno(error, "ENOENT", "ENOTDIR")) throw error;
    return null; // it is on its way out
  }
}

function item(
  kind: GcItem["kind"],
  name: string,
  bytes = 0,
  lastUsed: string | null = null,
): GcItem {
  return { kind, name, bytes, lastUsed };
}
