/** Trees between the host and a sandbox: by a worker that sees one directory of the sandbox alone. */
import { dirname } from "@std/path/dirname";
import { HostError, messageOf, NotFoundError, UsageError } from "../../errors.ts";
import type { Identity, Sandbox } from "../../sandbox/mod.ts";
import type { Work } from "../confined.ts";
import { archiveInput } from "../archive_input.ts";
import { bind } from "../worker_base.ts";
import type { Node } from "../node.ts";
import type { WriteBytes } from "../pack.ts";

const TREE = "/tree";

/** Bytes of a tar, in gzip, zstd or as they are. */
export type TarBytes = AsyncIterable<Uint8Array<ArrayBuffer>>;

/** Where in a sandbox a tree is. */
export interface TreeSpot {
  readonly sandbox: Sandbox;
  readonly path: string;
  readonly signal: AbortSignal;
}

/**
 * Removes whatever has a name, and all in it.
 *
 * @throws {NotFoundError | UsageError} If nothing has, or it cannot be removed.
 */
export async function removeTreeInside(
  node: Node,
  { sandbox, path, signal }: TreeSpot,
): Promise<void> {
  const { type } = await sandbox.files.stat(path, false);
  if (type === "directory") {
    await work(node, { sandbox, path, signal }, "remove", { args: ["__empty", TREE] });
  }
  await sandbox.files.remove(path);
}

/**
 * Unpacks a tar into a directory, which is made if it is not there.
 *
 * @param owners `keep` gives files to the tar's ids, where they exist inside; `root` to root.
 * @throws {ArchiveError | MinisandboxError} If it cannot be.
 */
export async function unpackTreeInside(
  node: Node,
  spot: TreeSpot,
  { tar, name, owners }: {
    readonly tar: string | TarBytes;
    readonly name: string;
    readonly owners: "keep" | "root";
  },
): Promise<{ readonly entries: number; readonly bytes: number }> {
  await spot.sandbox.files.makeDirectory(spot.path, {
    mode: 0o755,
    owner: null,
    makeParents: true,
  });
  const held = node.host.identity.kind === "single" ? "root" : owners;
  const input = typeof tar === "string"
    ? openArchive(tar, node.host.identity)
    : { args: [], stdin: tar };
  let summary = { entries: 0, bytes: 0 };
  await work(node, spot, "unpack into", {
    ...input,
    args: ["__unpack", "--into", TREE, "--name", name, "--owners", held, ...input.args],
    onMessage: (message) => {
      if ("summary" in message) summary = message.summary;
    },
  });
  return { entries: summary.entries, bytes: summary.bytes };
}

/**
 * Packs a directory; what is mounted in it is left out, and what changes meanwhile is noted.
 *
 * @throws {MinisandboxError} If it cannot be.
 */
export async function packTreeInside(
  node: Node,
  spot: TreeSpot,
  { level, onNote, write }: {
    readonly level: number | null;
    readonly onNote: (note: string) => void;
    readonly write: WriteBytes;
  },
): Promise<void> {
  const settings = {
    name: spot.path,
    owners: "keep",
    mtime: "keep",
    level,
    whiteouts: "plain",
    onChange: "note",
  } as const;
  await work(node, spot, "pack", {
    args: ["__pack", JSON.stringify({ trees: [{ dir: TREE, at: "" }], settings })],
    onOutput: write,
    onMessage: (message) => {
      if ("note" in message) onNote(message.note);
    },
  });
}

/** @throws {HostError} If it cannot be found. */
function openArchive(path: string, identity: Identity): ReturnType<typeof archiveInput> {
  const file = Deno.realPathSync(path);
  return archiveInput(file, Deno.statSync(file).uid!, identity);
}

async function work(
  { worker }: Node,
  { sandbox, path, signal }: TreeSpot,
  verb: string,
  job: Omit<Work, "binds" | "signal"> & Partial<Pick<Work, "binds">>,
): Promise<void> {
  using mount = await sandbox.files.copyMount(path, verb);
  await worker.work({
    ...job,
    signal,
    binds: [...job.binds ?? [], { ...bind(path, TREE, { isWritable: true }), mount: mount.fd }],
  });
}

/** What lies at a path of the host: the caller is its user, and has his rights. */
export function hostKind(path: string): "file" | "directory" | null {
  if (!path.startsWith("/")) {
    throw new UsageError(`Cannot use the host's path ${JSON.stringify(path)}: it is not absolute`);
  }
  try {
    const { isFile, isDirectory } = Deno.statSync(path);
    if (isFile) return "file";
    if (isDirectory) return "directory";
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw new HostError(`Cannot use ${JSON.stringify(path)}: ${messageOf(error)}`, {
      cause: error,
    });
  }
  throw new UsageError(
    `Cannot use ${JSON.stringify(path)}: it is neither a regular file nor a directory`,
  );
}

/** @throws {NotFoundError} If nothing lies there. */
export function mustBeOnHost(path: string): "file" | "directory" {
  const kind = hostKind(path);
  if (kind !== null) return kind;
  throw new NotFoundError(
    `Cannot upload ${JSON.stringify(path)}: there is no such file or directory`,
  );
}

/** Reads a file of the host, piece by piece. */
export async function* readHostFile(path: string): TarBytes {
  using file = await Deno.open(path);
  const buffer = new Uint8Array(256 * 1024);
  for (;;) {
    const count = await file.read(buffer);
    if (count === null) return;
    yield buffer.subarray(0, count);
  }
}

/** Writes a file of the host: whole, or not at all. Gives the bytes written. */
export async function writeHostFile(
  path: string,
  mode: number,
  fill: (write: WriteBytes) => Promise<void>,
): Promise<number> {
  const part = `${path}.${crypto.getRandomValues(new Uint8Array(6)).toHex()}.part`;
  let written = 0;
  try {
    await Deno.mkdir(dirname(path), { recursive: true });
    {
      using file = await Deno.open(part, { write: true, createNew: true, mode });
      await fill(async (bytes) => {
        for (let at = 0; at < bytes.length;) at += await file.write(bytes.subarray(at));
        written += bytes.length;
      });
    }
    await Deno.rename(part, path);
    return written;
  } catch (error) {
    await Deno.remove(part).catch(() => {});
    if (!isOfHost(error)) throw error;
    throw new HostError(`Cannot write ${JSON.stringify(path)}: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

function isOfHost(error: unknown): boolean {
  return error instanceof Deno.errors.PermissionDenied || error instanceof Deno.errors.NotFound ||
    error instanceof Deno.errors.AlreadyExists || (error instanceof Error && "code" in error);
}
