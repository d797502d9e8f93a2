/** Bases that have a name: the layers of an imported root file system or image. */
import { HostError, NotFoundError } from "../errors.ts";
import type { Layer, SetuidPolicy, Store } from "../store/mod.ts";
import { type Base, type Ground, type OnFirst, prepareBase, siteTree } from "./base.ts";
import type { SandboxSpec } from "./spec.ts";

/** What an image says of the programs in it. */
export interface ImageConfig {
  readonly env: Readonly<Record<string, string>>;
  readonly workdir: string | null;
  readonly user: string | null;
}

/** What an image says that says nothing. */
export const NO_CONFIG: ImageConfig = { env: {}, workdir: null, user: null };

/** A base as the store keeps it under its name. */
export interface BaseFile {
  /** The keys of its layers, the lowest first. */
  readonly keys: readonly string[];
  /** The SHA-256 of the archives of its layers, in the same order. */
  readonly layers: readonly string[];
  /** The ids that its layers were unpacked for. */
  readonly idmap: string;
  /** Kept, if it is not there. */
  readonly setuid?: SetuidPolicy;
  /** Depends on the layers' bytes and the config alone. */
  readonly digest: string;
  readonly config: ImageConfig;
  /** Files of the merged tree that are read from outside, by path; what is not there is absent. */
  readonly files: Readonly<Record<string, string>>;
  readonly source: { readonly kind: string; readonly name: string };
  readonly entries: number;
  readonly bytes: number;
  /** Entries whose owner could not be held here, and became root. */
  readonly ownersLost: number;
  /** ISO 8601. */
  readonly created: string;
}

/** A base that is held until it is disposed of. */
export type HeldBase = Base & Disposable;

/** Says whether a spec's base is a name. */
export function isBaseName(base: string): boolean {
  return base !== "host" && !base.includes("/");
}

/**
 * Gives the base of a spec, whatever its kind, and holds it.
 *
 * @throws {NotFoundError | UsageError | HostError} If it cannot be used.
 */
export async function openBase(
  { store, ground, idmap }: {
    readonly store: Store;
    readonly ground: Ground;
    readonly idmap: string;
  },
  spec: Pick<SandboxSpec, "base" | "hostname" | "network">,
  onFirst?: OnFirst,
): Promise<HeldBase> {
  if (!isBaseName(spec.base)) {
    const base = await prepareBase(ground, spec, onFirst);
    return { ...base, [Symbol.dispose]: () => {} };
  }
  const file = store.names.read<BaseFile>("base", spec.base);
  const isHostRoot = ground.host.identity.kind === "none";
  const layers = holdLayers(store, spec.base, file, { idmap, isHostRoot });
  const site = await siteTree(ground.trees, spec, file.files["etc/gitconfig"] ?? "");
  return {
    root: [site, ...layers.map(({ tree }) => tree).reverse()].map((path) => ({
      path,
      isIdMapped: false,
    })),
    parts: [],
    binds: [],
    users: (path) => file.files[path] ?? null,
    [Symbol.dispose]: () => layers.forEach((layer) => layer[Symbol.dispose]()),
  };
}

function holdLayers(
  store: Store,
  name: string,
  file: BaseFile,
  { idmap, isHostRoot }: { readonly idmap: string; readonly isHostRoot: boolean },
): Layer[] {
  if (file.idmap !== idmap) {
    throw new HostError(`Cannot use base "${name}": it was imported for other ids than ours`, {
      remedy: isHostRoot
        ? "Leave --userns off away, or give --base DIR, a directory."
        : `Import it again: minisandbox base remove ${name}, then base import.`,
    });
  }
  using held = new DisposableStack();
  // Of a layer that an image has twice, such as an empty one, only the upper can be seen.
  const policy = file.setuid === undefined ? {} : { setuid: file.setuid };
  const layers = [...new Set(file.layers.toReversed())].reverse().map((sha256) => {
    const layer = store.holdLayer({ sha256, path: "/", idmap, ...policy });
    if (layer !== null) return held.use(layer);
    throw new NotFoundError(`Cannot use base "${name}": its layer ${sha256} is gone`, {
      remedy: `Import it again: minisandbox base remove ${name}, then base import.`,
    });
  });
  held.move();
  return layers;
}

/**
 * Removes a base, and those of its layers that nothing else needs or uses.
 *
 * @throws {NotFoundError} If there is none.
 * @throws {UsageError} If something needs it.
 */
export async function removeBase({ names, catalog }: Store, name: string): Promise<void> {
  const { keys } = names.read<BaseFile>("base", name);
  names.remove("base", name);
  for (const key of new Set(keys)) await catalog.removeUnused(key);
}
