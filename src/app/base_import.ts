/** Use case: a root file system or an image made into a base that has a name. */
import { createHash } from "node:crypto";
import { resolve } from "@std/path/resolve";
import { NotFoundError } from "../errors.ts";
import { readFileBeneath } from "../sandbox/mod.ts";
import { checkName, type Layer, taken } from "../store/mod.ts";
import type { Image } from "./image.ts";
import { ensureLayers, type LayerEvent, type LayerWish } from "./layer.ts";
import { type BaseFile, NO_CONFIG } from "./named_base.ts";
import type { Node } from "./node.ts";
import { packDirectory } from "./pack.ts";

/** What is to be imported. */
export interface BaseWish {
  /** A tar, an OCI layout, what `docker save` wrote, or a directory of any; `-` for stdin. */
  readonly source: string;
  readonly name: string;
  /** Which image, where there are several. */
  readonly tag: string | null;
  readonly onEvent?: (event: LayerEvent) => void;
  readonly onNote?: (text: string) => void;
  readonly signal: AbortSignal;
}

/** Files of a base that are read from outside. */
const FILES = ["etc/passwd", "etc/group", "etc/gitconfig"];

/**
 * Imports a base.
 *
 * @throws {UsageError} If the name is taken, or there are several images.
 * @throws {NotFoundError | ArchiveError | HostError} If the source cannot be used.
 */
export async function importBase(node: Node, wish: BaseWish): Promise<BaseFile> {
  const { source, name } = wish;
  const { names } = node.store;
  checkName("base", name);
  if (names.has("base", name)) throw taken("base", name);
  await using scratch = node.store.openScratch();
  const path = source === "-" ? await spool(`${scratch.dir}/stdin.tar`) : resolve(source);
  if (isDirectory(path)) return await importDirectory(node, wish, path, scratch.dir);

  // Only when it is unpacked can be told what it is.
  const [layer] = await ensure(node, wish, [{ archive: path, path: "/" }]);
  await using stack = new AsyncDisposableStack();
  stack.defer(async () => void await node.store.catalog.removeUnused(layer!.key)); // the image itself
  stack.use(layer);
  const image = await findImage(layer!.tree, wish);
  if (image !== null) return await importImage(node, wish, image);
  return await finish(node, wish, [layer!], null);
}

async function importDirectory(
  node: Node,
  wish: BaseWish,
  dir: string,
  scratch: string,
): Promise<BaseFile> {
  const image = await findImage(dir, wish);
  if (image !== null) return await importImage(node, wish, image);
  const archive = `${scratch}/root.tar`;
  using file = await Deno.open(archive, { write: true, create: true });
  const { onNote, signal } = wish;
  onNote?.(`packing "${dir}"`);
  const watch = { signal, ...(onNote === undefined ? {} : { onNote }) };
  await packDirectory(dir, { owners: "keep", mtime: "keep", level: null }, async (bytes) => {
    for (let at = 0; at < bytes.length;) at += await file.write(bytes.subarray(at));
  }, watch);
  using layers = held(await ensure(node, wish, [{ archive, path: "/" }]));
  return await finish(node, wish, layers.all, null);
}

async function importImage(node: Node, wish: BaseWish, image: Image): Promise<BaseFile> {
  const wishes = image.layers.map((layer) => ({ ...layer, path: "/" }));
  using layers = held(await ensure(node, wish, wishes));
  return await finish(node, wish, layers.all, image);
}

async function finish(
  node: Node,
  { name, source }: BaseWish,
  layers: readonly Layer[],
  image: Image | null,
): Promise<BaseFile> {
  const { names, catalog } = node.store;
  const infos = layers.map(({ key }) => catalog.find(key));
  const sum = (of: (info: typeof infos[number]) => number) =>
    infos.reduce((total, info) => total + of(info), 0);
  const config = image?.config ?? NO_CONFIG;
  const digests = layers.map(({ sha256 }) => sha256);
  const base: BaseFile = {
    keys: layers.map(({ key }) => key),
    layers: digests,
    idmap: node.idmap,
    ...(node.setuid === "keep" ? {} : { setuid: node.setuid }),
    digest: baseDigest(digests, config, node.setuid),
    config,
    files: readFiles(layers.map(({ tree }) => tree)),
    source: { kind: image?.kind ?? "root", name: source },
    entries: sum(({ entries }) => entries),
    bytes: sum(({ bytes }) => bytes),
    ownersLost: sum(({ ownersLost }) => ownersLost),
    created: new Date().toISOString(),
  };
  await names.write("base", name, base);
  return base;
}

function baseDigest(
  layers: readonly string[],
  config: BaseFile["config"],
  setuid: Node["setuid"],
): string {
  const env = Object.entries(config.env).sort(([a], [b]) => a < b ? -1 : 1);
  const { user, workdir } = config;
  const special = setuid === "keep" ? {} : { setuid };
  const content = { env: Object.fromEntries(env), layers, ...special, user, version: 1, workdir };
  return createHash("sha256").update(JSON.stringify(content)).digest("hex");
}

/** Reads each file from the topmost layer that has it, or hides it. */
function readFiles(trees: readonly string[]): Record<string, string> {
  const files: Record<string, string> = {};
  for (const path of FILES) {
    for (const tree of trees.toReversed()) {
      const text = readQuietly(tree, path);
      if (text !== null) files[path] = text;
      if (text !== null || isHidden(`${tree}/${path}`)) break;
    }
  }
  return files;
}

function readQuietly(tree: string, path: string): string | null {
  try {
    return readFileBeneath(tree, path);
  } catch {
    return null; // closed to us: nobody can be looked up in it
  }
}

function isHidden(path: string): boolean {
  try {
    return Deno.lstatSync(path).isCharDevice === true;
  } catch {
    return false;
  }
}

async function findImage(dir: string, { tag }: BaseWish): Promise<Image | null> {
  const { readImage } = await import("./image.ts");
  return readImage(dir, tag);
}

async function ensure(
  node: Node,
  { onEvent, signal }: BaseWish,
  wishes: readonly LayerWish[],
): Promise<Layer[]> {
  return await ensureLayers(node.store, wishes, {
    idmap: node.idmap,
    setuid: node.setuid,
    unpack: node.unpack,
    budget: node.budget,
    use: "base",
    signal,
    ...(onEvent === undefined ? {} : { onEvent }),
  });
}

function held(all: readonly Layer[]): { readonly all: readonly Layer[] } & Disposable {
  return { all, [Symbol.dispose]: () => all.forEach((layer) => layer[Symbol.dispose]()) };
}

/** Keeps what comes by stdin, since an archive is read twice: for its digest, and to unpack it. */
async function spool(path: string): Promise<string> {
  using file = await Deno.open(path, { write: true, createNew: true });
  await Deno.stdin.readable.pipeTo(file.writable, { preventClose: true });
  return path;
}

function isDirectory(path: string): boolean {
  try {
    return Deno.statSync(path).isDirectory;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new NotFoundError(`Cannot import ${JSON.stringify(path)}: no such file or directory`);
  }
}
