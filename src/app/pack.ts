/** Use case: trees packed as archives: a directory of the caller's, a layer, what a sandbox wrote. */
import type { PackedTree } from "../archive/mod.ts";
import { NotFoundError, UsageError } from "../errors.ts";
import type { CatalogEntry } from "../store/mod.ts";
import type { Node } from "./node.ts";

/** How trees are packed; the fields are those of `PackOptions`. */
export interface PackSettings {
  readonly name: string;
  readonly owners: "keep" | "root";
  readonly mtime: "keep" | number;
  /** gzip's level; null for a plain tar. */
  readonly level: number | null;
  readonly whiteouts: "oci" | "plain";
  /** What happens when a file changes meanwhile; it fails, if that is not said. */
  readonly onChange?: "fail" | "note";
}

/** Takes an archive's bytes, which are valid until it resolves. */
export type WriteBytes = (bytes: Uint8Array<ArrayBuffer>) => Promise<void>;

/** What a caller hears of. */
export interface PackWatch {
  readonly onNote?: (text: string) => void;
  readonly signal?: AbortSignal | undefined;
}

/** Trees to be packed by a worker. */
export interface PackWish extends PackSettings, PackWatch {
  readonly parts: readonly PackedTree[];
}

/**
 * Packs a directory with the caller's own rights.
 *
 * @throws {UsageError | NotFoundError} If it is no directory.
 * @throws {ArchiveError | HostError} If it cannot be packed.
 */
export async function packDirectory(
  dir: string,
  settings: Omit<PackSettings, "name" | "whiteouts">,
  write: WriteBytes,
  { onNote = () => {}, signal }: PackWatch = {},
): Promise<void> {
  checkDirectory(dir);
  const { packDirectories } = await import("../archive/mod.ts");
  const bytes = packDirectories([{ dir, at: "" }], {
    ...settings,
    name: dir,
    whiteouts: "plain",
    onNote: ({ name, state }) => onNote(`${name} ${state}`),
    signal,
  });
  for await (const chunk of bytes) await write(chunk);
}

/**
 * Packs what a layer holds; that of a base or a snapshot with its whiteouts, as OCI layers have them.
 *
 * @param prefix The start of its key.
 * @throws {NotFoundError | UsageError} If there is no such layer.
 */
export async function exportLayer(
  { store, worker }: Node,
  prefix: string,
  { level, write, ...watch }: PackWatch & { readonly level: number | null; write: WriteBytes },
): Promise<CatalogEntry> {
  const layer = store.catalog.find(prefix);
  using held = store.holdLayer({ ...layer, sha256: layer.archive.sha256 });
  if (held === null) {
    throw new NotFoundError(`Cannot export layer ${layer.key}: it was removed in the meantime`);
  }
  const isRoot = layer.path === "/";
  await worker.pack({
    ...watch,
    parts: [{ dir: held.tree + (isRoot ? "" : layer.path), at: "" }],
    name: layer.archive.name,
    owners: "keep",
    mtime: "keep",
    level,
    whiteouts: isRoot ? "oci" : "plain",
  }, write);
  return layer;
}

function checkDirectory(dir: string): void {
  try {
    if (Deno.statSync(dir).isDirectory) return;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new NotFoundError(`Cannot pack ${JSON.stringify(dir)}: no such directory`);
  }
  throw new UsageError(`Cannot pack ${JSON.stringify(dir)}: it is not a directory`);
}
