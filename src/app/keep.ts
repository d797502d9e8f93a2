/** Use case: what a sandbox wrote, kept when it has ended. */
import type { PackedTree } from "../archive/mod.ts";
import { HostError, messageOf, MinisandboxError, UsageError } from "../errors.ts";
import type { Layout, Part } from "../sandbox/mod.ts";
import { checkName, HeldDirectory, type Layer, taken } from "../store/mod.ts";
import { ensureLayers } from "./layer.ts";
import { isBaseName } from "./named_base.ts";
import type { Node } from "./node.ts";
import type { WriteBytes } from "./pack.ts";
import type { SnapshotFile } from "./snapshot.ts";
import type { SandboxSpec } from "./spec.ts";

/** The archive's name in a directory of the caller's. */
const FILE = "root.tar.gz";

/** What a caller hears of, and how gzip is to try; memory is cheap where nothing stays. */
interface Work {
  readonly level: number | null;
  readonly onNote: (text: string) => void;
  readonly signal: AbortSignal;
}

/**
 * Where what is written will be kept: under a name, or in a directory. That is held from before
 * anything runs: a program inside may be let write to it, or to what it lies in.
 */
export class KeepPlace implements Disposable {
  constructor(readonly name: string | null, readonly directory: HeldDirectory | null) {}

  /** Lets the directory go. */
  [Symbol.dispose](): void {
    this.directory?.[Symbol.dispose]();
  }
}

/**
 * Opens the place, and refuses, before anything has run, what could not be kept afterwards.
 *
 * @param place A name, or a directory, which holds a slash.
 * @throws {UsageError} If the name is taken, or what is written lies in memory.
 * @throws {HostError} If the directory cannot be made.
 */
export function openKeepPlace({ store }: Node, { upper }: SandboxSpec, place: string): KeepPlace {
  if (upper.kind === "tmpfs") {
    throw new UsageError("Cannot keep what is written to memory: it ends with the sandbox", {
      remedy: "Give --upper disk, or leave --keep out.",
    });
  }
  if (!place.includes("/")) {
    checkName("snapshot", place);
    if (store.names.has("snapshot", place)) throw taken("snapshot", place);
    return new KeepPlace(place, null);
  }
  try {
    Deno.mkdirSync(place, { recursive: true });
    return new KeepPlace(null, new HeldDirectory(place));
  } catch (error) {
    throw new HostError(`Cannot keep in ${JSON.stringify(place)}: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

/**
 * Keeps what was written.
 *
 * @param layout That of the sandbox, which has ended.
 * @throws {HostError | ArchiveError} If it cannot be packed or written.
 */
export async function keepUpper(
  node: Node,
  spec: SandboxSpec,
  { layout, place, ...watch }: Omit<Work, "level"> & {
    readonly layout: Layout;
    readonly place: KeepPlace;
  },
): Promise<void> {
  if (layout.upper.kind !== "disk") {
    throw new Error("an upper in memory has ended with its sandbox");
  }
  const trees = upperTrees(layout.parts, `${layout.upper.dir}/upper`);
  const { name, directory } = place;
  if (directory === null) {
    await keepTrees(node, spec, [trees], { name: name!, ...watch });
    return;
  }
  const part = `${directory.path}/.${FILE}.part`;
  try {
    await writeFile(part, (write) => pack(node, trees, write, { ...watch, level: 6 }));
    await Deno.rename(part, `${directory.path}/${FILE}`);
  } catch (error) {
    await Deno.remove(part).catch(() => {});
    if (error instanceof MinisandboxError || watch.signal.aborted) throw error;
    throw new HostError(`Cannot keep what was written: ${messageOf(error)}`, { cause: error });
  }
}

/** What was written in each part lies in a directory of its number. */
export function upperTrees(parts: readonly Part[], dir: string): readonly PackedTree[] {
  return parts.map(({ target }, i) => ({ dir: `${dir}/${i}`, at: target.slice(1) }));
}

/**
 * Keeps trees under a name, each as one layer.
 *
 * @param layers The lowest first.
 * @throws {UsageError | HostError | ArchiveError} If the name is taken, or one cannot be packed.
 */
export async function keepTrees(
  node: Node,
  { base }: Pick<SandboxSpec, "base">,
  layers: readonly (readonly PackedTree[])[],
  { name, ...watch }: Omit<Work, "level"> & { readonly name: string },
): Promise<SnapshotFile> {
  const { store, idmap, unpack, budget } = node;
  const options = { idmap, unpack, budget, signal: watch.signal, use: "base" } as const;
  await using scratch = store.openScratch();
  using held = new DisposableStack();
  const made: Layer[] = [];
  for (const [i, trees] of layers.entries()) {
    const archive = `${scratch.dir}/${i}-${FILE}`;
    await writeFile(archive, (write) => pack(node, trees, write, { ...watch, level: null }));
    const [layer] = await ensureLayers(store, [{ archive, path: "/" }], options);
    made.push(held.use(layer!));
    await Deno.remove(archive);
  }
  const found = made.map(({ key }) => store.catalog.find(key));
  const snapshot: SnapshotFile = {
    keys: made.map(({ key }) => key),
    sha256: made.at(-1)!.sha256,
    ...(made.length > 1 ? { below: made.slice(0, -1).map(({ sha256 }) => sha256) } : {}),
    idmap,
    needsBase: isBaseName(base) ? base : null,
    entries: found.reduce((sum, { entries }) => sum + entries, 0),
    bytes: found.reduce((sum, { bytes }) => sum + bytes, 0),
    created: new Date().toISOString(),
  };
  await store.names.write("snapshot", name, snapshot);
  return snapshot;
}

async function pack(
  { worker }: Node,
  parts: readonly PackedTree[],
  write: WriteBytes,
  { level, ...watch }: Work,
): Promise<void> {
  await worker.pack({
    ...watch,
    parts,
    name: "what the sandbox wrote",
    owners: "keep",
    mtime: "keep",
    level,
    whiteouts: "oci",
  }, write);
}

/** A file that a killed run left is removed, or a link that a program put there: none is followed. */
async function writeFile(path: string, fill: (write: WriteBytes) => Promise<void>): Promise<void> {
  await Deno.remove(path).catch((error) => {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  });
  using file = await Deno.open(path, { write: true, createNew: true });
  await fill(async (bytes) => {
    for (let at = 0; at < bytes.length;) at += await file.write(bytes.subarray(at));
  });
}
