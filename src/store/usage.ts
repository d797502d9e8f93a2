/** What a store takes on the disk, and what of it is in use. */
import { AT, lstatAt, S, statfs } from "../../ffi/mod.ts";
import type { Store } from "./store.ts";

/** How many there are of a kind, and what they take. */
export interface Amount {
  readonly count: number;
  readonly bytes: number;
}

/** What a store takes. */
export interface Usage {
  readonly dir: string;
  readonly layers: Amount;
  /** Of the layers, those that a sandbox uses now. */
  readonly inUse: Amount;
  /** Of the layers, those that neither a sandbox nor a name needs: `store gc` could remove them. */
  readonly unused: Amount;
  readonly bases: number;
  readonly environments: number;
  readonly snapshots: number;
  /** Directories of bases and sites. */
  readonly trees: Amount;
  /** Directories of sandboxes and of work that goes on, or was left by dead processes. */
  readonly running: number;
  /** What is free on the file system for this user. */
  readonly freeBytes: number;
}

/** Measures a store. */
export function measureUsage(store: Store): Usage {
  const { dir, names } = store;
  const layers = store.catalog.list();
  const amount = (some: typeof layers) => ({
    count: some.length,
    bytes: some.reduce((sum, { diskBytes }) => sum + diskBytes, 0),
  });
  const directories = (name: string) =>
    [...Deno.readDirSync(`${dir}/${name}`)].filter(({ isDirectory }) => isDirectory);
  return {
    dir,
    layers: amount(layers),
    inUse: amount(layers.filter(({ isInUse }) => isInUse)),
    unused: amount(layers.filter(({ isInUse, usedBy }) => !isInUse && usedBy.length === 0)),
    bases: names.list("base").length,
    environments: names.list("environment").length,
    snapshots: names.list("snapshot").length,
    trees: {
      count: directories("skeletons").length,
      bytes: directorySize(`${dir}/skeletons`),
    },
    running: directories("runs").length + directories("tmp").length,
    freeBytes: statfs(dir).freeBytes,
  };
}

/** Gives the bytes that a directory takes with all beneath it, as far as we may look. */
export function directorySize(path: string): number {
  try {
    const { diskBytes, mode } = lstatAt(AT.AT_FDCWD, path);
    if ((mode & S.S_IFMT) !== S.S_IFDIR) return diskBytes;
    let bytes = diskBytes;
    for (const { name } of Deno.readDirSync(path)) bytes += directorySize(`${path}/${name}`);
    return bytes;
  } catch {
    return 0; // closed to us, or gone meanwhile
  }
}
