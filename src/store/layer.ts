/** Layers as they lie in the store: found, held while in use, listed. */
import { close, isErrno } from "../../ffi/mod.ts";
import type { SetuidPolicy } from "./key.ts";
import { hold, readUse, type Use } from "./hold.ts";

/** A layer that cannot be removed until this is disposed of. */
export interface Layer extends Disposable {
  readonly key: string;
  /** The SHA-256 of its archive. */
  readonly sha256: string;
  /** Where it is shown in a sandbox. */
  readonly path: string;
  /** The directory that holds its tree from the root down: `<tree>/<path>` is what was unpacked. */
  readonly tree: string;
}

/** What is written beside a layer's tree. */
export interface Manifest {
  readonly archive: { readonly name: string; readonly sha256: string };
  readonly path: string;
  readonly idmap: string;
  /** Kept, if it is not there. */
  readonly setuid?: SetuidPolicy;
  readonly entries: number;
  readonly bytes: number;
  /** About what it takes on the disk. */
  readonly diskBytes: number;
  /** Entries whose owner could not be held here, and became root. */
  readonly ownersLost: number;
  /** ISO 8601. */
  readonly created: string;
}

/** A layer as `layer list` shows it. */
export interface LayerInfo extends Manifest, Use {
  readonly key: string;
}

/** Finds a layer and holds it; null if it is not there, or on its way out. */
export function holdLayer(
  dir: string,
  { key, sha256, path }: { readonly key: string; readonly sha256: string; readonly path: string },
): Layer | null {
  const fd = hold(`${dir}/${key}`);
  if (fd === null) return null;
  let isHeld = true;
  return {
    key,
    sha256,
    path,
    tree: `${dir}/${key}/tree`,
    [Symbol.dispose]: () => {
      if (isHeld) close(fd);
      isHeld = false;
    },
  };
}

/** Describes each layer in the store, by the path it is shown at. */
export function listLayers(dir: string): LayerInfo[] {
  const layers: LayerInfo[] = [];
  for (const { name: key } of Deno.readDirSync(dir)) {
    const layer = readLayer(dir, key);
    if (layer !== null) layers.push(layer);
  }
  return layers.sort((a, b) => a.path < b.path || (a.path === b.path && a.key < b.key) ? -1 : 1);
}

/** Describes a layer; null if it is not there any more. */
export function readLayer(dir: string, key: string): LayerInfo | null {
  try {
    const manifest: Manifest = JSON.parse(Deno.readTextFileSync(`${dir}/${key}/manifest.json`));
    return { ...manifest, key, ...readUse(`${dir}/${key}`) };
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound) && !isErrno(error, "ENOENT")) throw error;
    return null;
  }
}
