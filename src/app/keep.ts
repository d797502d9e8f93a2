/** Use case: what a sandbox wrote, kept when it has ended. */
import { HostError, messageOf, UsageError } from "../errors.ts";
import type { Layout } from "../sandbox/mod.ts";
import { checkName, taken } from "../store/mod.ts";
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
 * Refuses, before anything has run, what could not be kept afterwards.
 *
 * @param place A name, or a directory, which holds a slash.
 * @throws {UsageError} If the name is taken, or what is written lies in memory.
 * @throws {HostError} If the directory cannot be made.
 */
export function checkKeep({ store }: Node, { upper }: SandboxSpec, place: string): void {
  if (upper.kind === "tmpfs") {
    throw new UsageError("Cannot keep what is written to memory: it ends with the sandbox", {
      remedy: "Give --upper disk, or leave --keep out.",
    });
  }
  if (!place.includes("/")) {
    checkName("snapshot", place);
    if (store.names.has("snapshot", place)) throw taken("snapshot", place);
    return;
  }
  try {
    Deno.mkdirSync(place, { recursive: true });
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
    readonly place: string;
  },
): Promise<void> {
  await using scratch = node.store.openScratch();
  const isName = !place.includes("/");
  const archive = isName ? `${scratch.dir}/${FILE}` : `${place}/.${FILE}.part`;
  const level = isName ? null : 6;
  try {
    await writeFile(archive, (write) => pack(node, layout, write, { ...watch, level }));
    if (isName) await nameSnapshot(node, spec, place, archive, watch.signal);
    else await Deno.rename(archive, `${place}/${FILE}`);
  } catch (error) {
    await Deno.remove(archive).catch(() => {});
    throw error;
  }
}

async function pack(
  { worker }: Node,
  { parts, upper }: Layout,
  write: WriteBytes,
  { level, ...watch }: Work,
): Promise<void> {
  if (upper.kind !== "disk") throw new Error("an upper in memory has ended with its sandbox");
  await worker.pack({
    ...watch,
    parts: parts.map(({ target }, i) => ({ dir: `${upper.dir}/upper/${i}`, at: target.slice(1) })),
    name: "what the sandbox wrote",
    owners: "keep",
    mtime: "keep",
    level,
    whiteouts: "oci",
  }, write);
}

async function nameSnapshot(
  { store, idmap, unpack, budget }: Node,
  { base }: SandboxSpec,
  name: string,
  archive: string,
  signal: AbortSignal,
): Promise<void> {
  const options = { idmap, unpack, budget, signal, use: "base" } as const;
  const [layer] = await ensureLayers(store, [{ archive, path: "/" }], options);
  using held = layer!;
  const { entries, bytes } = store.catalog.find(held.key);
  const snapshot: SnapshotFile = {
    keys: [held.key],
    sha256: held.sha256,
    idmap,
    needsBase: isBaseName(base) ? base : null,
    entries,
    bytes,
    created: new Date().toISOString(),
  };
  await store.names.write("snapshot", name, snapshot);
}

async function writeFile(path: string, fill: (write: WriteBytes) => Promise<void>): Promise<void> {
  using file = await Deno.open(path, { write: true, create: true, truncate: true });
  await fill(async (bytes) => {
    for (let at = 0; at < bytes.length;) at += await file.write(bytes.subarray(at));
  });
}
