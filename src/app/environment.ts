/** Use case: environments, by name: a base, layers and variables that belong together. */
import { createHash } from "node:crypto";
import { dirname } from "@std/path/dirname";
import { resolve } from "@std/path/resolve";
import { UsageError } from "../errors.ts";
import { taken } from "../store/mod.ts";
import { ensureLayers, type LayerEvent } from "./layer.ts";
import { checkDistinct } from "./layer_path.ts";
import { type BaseFile, isBaseName } from "./named_base.ts";
import type { Node } from "./node.ts";

/** An environment as its author writes it. */
export interface EnvironmentManifest {
  readonly base: string;
  readonly layers: readonly EnvironmentLayer[];
  readonly env: Readonly<Record<string, string>>;
  readonly workdir: string | null;
}

/** An archive by its path, its SHA-256 or both, and where it is shown. */
export interface EnvironmentLayer {
  readonly archive?: string;
  readonly sha256?: string;
  readonly path: string;
}

/** An environment as the store keeps it under its name. */
export interface EnvironmentFile extends EnvironmentManifest {
  readonly layers: readonly (EnvironmentLayer & { readonly sha256: string })[];
  /** The keys of its layers. */
  readonly keys: readonly string[];
  /** The base's name, if it has one. */
  readonly needsBase: string | null;
  /** The base's digest, if it has a name. */
  readonly baseDigest: string | null;
  /** Depends on content alone: the same on every node. */
  readonly digest: string;
  /** ISO 8601. */
  readonly created: string;
}

/**
 * Imports an environment: its layers are unpacked, where they are not yet, and stay for as long as it
 * has its name.
 *
 * @param manifestPath Where the manifest lies: its archives are named relative to that.
 * @throws {MinisandboxError} If the name is taken, or a base or an archive cannot be used.
 */
export async function importEnvironment(
  node: Node,
  { name, manifest, manifestPath, jobs, onEvent, signal }: {
    readonly name: string;
    readonly manifest: EnvironmentManifest;
    readonly manifestPath: string;
    readonly jobs?: number;
    readonly onEvent?: (event: LayerEvent) => void;
    readonly signal?: AbortSignal;
  },
): Promise<EnvironmentFile> {
  const { names } = node.store;
  if (names.has("environment", name)) throw taken("environment", name);
  const base = checkBase(manifest.base);
  const baseDigest = isBaseName(base) ? names.read<BaseFile>("base", base).digest : null;
  checkDistinct(manifest.layers.map(({ path }) => path));
  const wishes = manifest.layers.map((layer) => ({
    ...layer,
    ...(layer.archive === undefined
      ? {}
      : { archive: resolve(dirname(manifestPath), layer.archive) }),
  }));
  const layers = await ensureLayers(node.store, wishes, {
    idmap: node.idmap,
    unpack: node.unpack,
    budget: node.budget,
    use: "import",
    ...(jobs === undefined ? {} : { jobs }),
    ...(onEvent === undefined ? {} : { onEvent }),
    signal,
  });
  using held = new DisposableStack();
  for (const layer of layers) held.use(layer);
  const { env, workdir } = manifest;
  const known = layers.map(({ sha256, path }, i) => ({ ...wishes[i]!, sha256, path }));
  const environment: EnvironmentFile = {
    base,
    layers: known,
    env,
    workdir,
    keys: layers.map(({ key }) => key),
    needsBase: baseDigest === null ? null : base,
    baseDigest,
    digest: environmentDigest({ base: baseDigest ?? base, layers: known, env, workdir }),
    created: new Date().toISOString(),
  };
  await names.write("environment", name, environment);
  return environment;
}

/** Gives the digest of an environment: of its content, in one fixed form (RFC 8785 for our types). */
export function environmentDigest(
  { base, layers, env, workdir }: {
    /** `host`, or the digest of a base. */
    readonly base: string;
    readonly layers: readonly { readonly sha256: string; readonly path: string }[];
    readonly env: Readonly<Record<string, string>>;
    readonly workdir: string | null;
  },
): string {
  const variables = Object.entries(env).sort(([a], [b]) => a < b ? -1 : 1);
  const content = {
    base,
    env: Object.fromEntries(variables),
    layers: layers.map(({ path, sha256 }) => ({ path, sha256 })),
    version: 1,
    workdir,
  };
  return createHash("sha256").update(JSON.stringify(content)).digest("hex");
}

/** A directory is no content: what lies in it may change, and lies nowhere else. */
function checkBase(base: string): string {
  if (!base.includes("/")) return base;
  throw new UsageError(
    `Cannot use ${JSON.stringify(base)} as an environment's base: it is a path`,
    {
      remedy: "Import it first: minisandbox base import DIR NAME, and give its name.",
    },
  );
}
