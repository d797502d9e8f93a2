/** Files as SWE-ReX clients read, write and upload them. */
import type * as z from "zod/mini";
import { concat } from "@std/bytes/concat";
import { ArchiveError, GoneError, MinisandboxError, NotFoundError } from "../../../errors.ts";
import { type Files, readFileInside, writeFile } from "../../../sandbox/mod.ts";
import type { Node } from "../../node.ts";
import { readHostFile, unpackTreeInside } from "../file_tree.ts";
import { pathOf } from "../file_wish.ts";
import type { LiveSandbox } from "../live_sandbox.ts";
import { type RAISED, Raised } from "./failure.ts";
import { decodePython, encodePython } from "./python_text.ts";
import type { readFileRequest, writeFileRequest } from "./wire.ts";

/** What one answer holds at most. */
const MOST_BYTES = 64 << 20;

/** Reads a file as text. @throws {Raised} As Python's `Path.read_text` does. */
export function readText(
  sandbox: LiveSandbox,
  { path: wish, encoding, errors }: z.infer<typeof readFileRequest>,
): Promise<{ readonly content: string }> {
  return doing(sandbox, async () => {
    const path = pathOf(sandbox, wish);
    const { files } = sandbox.parts.sandbox;
    const pieces: Uint8Array<ArrayBuffer>[] = [];
    for await (const piece of readFileInside(files, path, { offset: 0, length: MOST_BYTES + 1 })) {
      pieces.push(piece.slice());
    }
    const bytes = concat(pieces);
    if (bytes.length > MOST_BYTES) {
      throw new Raised("os", `[Errno 27] File is longer than ${MOST_BYTES} bytes: '${wish}'`);
    }
    return { content: decodePython(bytes, encoding ?? "utf-8", errors ?? "strict") };
  });
}

/** Writes a file, and makes its parents. @throws {Raised} As Python's `Path.write_text` does. */
export function writeText(
  sandbox: LiveSandbox,
  { path, content }: z.infer<typeof writeFileRequest>,
): Promise<Record<never, never>> {
  return doing(sandbox, async () => {
    await put(sandbox, path, [encodePython(content)]);
    return {};
  });
}

/** Takes a file of the host, or the tree in it if it is a zip. @throws {Raised} If it cannot be. */
export function upload(
  sandbox: LiveSandbox,
  { file, target, isZip }: {
    readonly file: string;
    readonly target: string;
    readonly isZip: boolean;
  },
  node: Node,
): Promise<Record<never, never>> {
  return doing(sandbox, async (signal) => {
    if (!isZip) {
      await put(sandbox, target, readHostFile(file));
      return {};
    }
    const { zipToTar } = await import("../../../archive/mod.ts");
    const spot = { sandbox: sandbox.parts.sandbox, path: pathOf(sandbox, target), signal };
    const name = "that was sent";
    const { user } = sandbox.parts.prepared;
    await unpackTreeInside(node, spot, { tar: zipToTar(file, name, user), name, owners: "keep" });
    return {};
  });
}

/** What is there stays the same file, with its mode and its owner; a new one is the user's. */
async function put(
  sandbox: LiveSandbox,
  wish: string,
  source: Parameters<typeof writeFile>[2],
): Promise<void> {
  const { prepared, sandbox: { files } } = sandbox.parts;
  const path = pathOf(sandbox, wish);
  await writeFile(files, path, source, {
    mode: null,
    owner: await isThere(files, path) ? null : prepared.user,
    makeParents: true,
    isAtomic: false,
  });
}

async function isThere(files: Files, path: string): Promise<boolean> {
  try {
    await files.stat(path, true);
    return true;
  } catch (error) {
    if (error instanceof NotFoundError) return false;
    throw error;
  }
}

/** The class of an error by the kernel's name for it. */
const BY_CODE: Readonly<Record<string, keyof typeof RAISED>> = {
  EISDIR: "isDirectory",
  ENOTDIR: "isNoDirectory",
  EACCES: "denied",
  EPERM: "denied",
};

async function doing<T>(
  sandbox: LiveSandbox,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  try {
    return await sandbox.use(work);
  } catch (error) {
    if (!(error instanceof MinisandboxError) || error instanceof GoneError) throw error;
    throw new Raised(kindOf(error), error.message, { cause: error });
  }
}

function kindOf(error: MinisandboxError): keyof typeof RAISED {
  if (error instanceof NotFoundError) return "noFile";
  if (error instanceof ArchiveError) return "badZip";
  const { code } = (error.cause ?? {}) as { readonly code?: unknown };
  return BY_CODE[String(code)] ?? "os";
}
