/** Methods on the files of a sandbox: small ones inline. */
import * as z from "zod/mini";
import { NotFoundError, UsageError } from "../../../errors.ts";
import { type ListedFile, readFileInside, showPath, writeFile } from "../../../sandbox/mod.ts";
import { method } from "../method.ts";
import { byteCount, bytesWish, sandboxId } from "../schema.ts";
import { toBytes } from "../text.ts";
import { decode, nameText, ownerOf, ownerWish, pathOf, permissions, toName } from "../file_wish.ts";
import { removeTreeInside } from "../file_tree.ts";

/** What one answer holds at most: JSON makes it longer, and a message has an end. */
const MOST_BYTES = 16 * 2 ** 20;

/** So many files a list tells of if nothing is said. */
const USUAL_FILES = 10_000;

const type = z.enum([
  "file",
  "directory",
  "symlink",
  "fifo",
  "socket",
  "charDevice",
  "blockDevice",
]);

const infoFields = {
  type,
  size: byteCount,
  mode: permissions,
  uid: z.int(),
  gid: z.int(),
  links: z.int(),
  mtimeMs: z.number(),
  target: z.optional(nameText),
};

const where = { sandbox: sandboxId, path: bytesWish };

const read = method({
  summary: "Reads a regular file, or a part of it. Text that is not of the encoding is an error " +
    'that names the byte, or with errors "replace" mended and marked as lossy.',
  params: z.strictObject({
    ...where,
    encoding: z.optional(z.string()),
    errors: z.optional(z.enum(["strict", "replace"])),
    base64: z.optional(z.boolean()),
    offset: z.optional(byteCount),
    length: z.optional(byteCount.check(z.maximum(MOST_BYTES))),
  }),
  result: z.strictObject({
    text: z.optional(z.string()),
    base64: z.optional(z.string()),
    bytes: byteCount,
    isEnd: z.boolean(),
  }),
  example: {
    params: { sandbox: "sb-5f1c09aa-1", path: "/testbed/setup.cfg" },
    result: { text: "[metadata]\n", bytes: 11, isEnd: true },
  },
  run: ({ sandbox: id, path: wish, offset = 0, length, ...how }, { server }) => {
    const sandbox = server.find(id);
    return sandbox.use(async () => {
      const path = pathOf(sandbox, wish);
      const most = length ?? MOST_BYTES;
      const { files } = sandbox.parts.sandbox;
      // One byte more tells whether that was all.
      const all = await collect(readFileInside(files, path, { offset, length: most + 1 }));
      const isEnd = all.length <= most;
      if (!isEnd && length === undefined) {
        throw new UsageError(
          `Cannot read ${showPath(path)}: it is longer than ${MOST_BYTES} bytes`,
          {
            remedy: "Read it in parts by offset and length, or use file.download.",
          },
        );
      }
      const bytes = all.subarray(0, most);
      const { encoding = "utf-8", errors = "strict", base64 = false } = how;
      const isStrict = errors === "strict";
      return {
        ...(base64
          ? { base64: bytes.toBase64() }
          : { text: decode(bytes, { encoding, isStrict, path }) }),
        bytes: bytes.length,
        isEnd,
      };
    });
  },
});

const write = method({
  summary:
    "Writes a file: whole or not at all, unless atomic is false, which writes into the file " +
    "that is there. Links are followed, within the sandbox.",
  params: z.strictObject({
    ...where,
    data: bytesWish,
    mode: z.optional(permissions),
    owner: z.optional(ownerWish),
    makeParents: z.optional(z.boolean()),
    atomic: z.optional(z.boolean()),
  }),
  result: z.strictObject({ bytes: byteCount }),
  example: {
    params: { sandbox: "sb-5f1c09aa-1", path: "/tmp/fix.patch", data: "diff --git …" },
    result: { bytes: 14 },
  },
  run: ({ sandbox: id, path, data, mode, owner, makeParents = true, atomic = true }, site) => {
    const sandbox = site.server.find(id);
    return sandbox.change(async () => {
      const bytes = await writeFile(
        sandbox.parts.sandbox.files,
        pathOf(sandbox, path),
        [toBytes(data)],
        {
          mode: mode ?? null,
          owner: ownerOf(sandbox, owner, site.server.node),
          makeParents,
          isAtomic: atomic,
        },
      );
      return { bytes };
    });
  },
});

const stat = method({
  summary: "Tells of a file; of a link itself, unless follow is set.",
  params: z.strictObject({ ...where, follow: z.optional(z.boolean()) }),
  result: z.strictObject(infoFields),
  run: ({ sandbox: id, path, follow = false }, { server }) => {
    const sandbox = server.find(id);
    return sandbox.use(async () =>
      toInfo(await sandbox.parts.sandbox.files.stat(pathOf(sandbox, path), follow))
    );
  },
});

const list = method({
  summary:
    "Lists what a directory holds, sorted by the bytes of the names; links are not followed.",
  params: z.strictObject({
    ...where,
    most: z.optional(z.int().check(z.positive(), z.maximum(100_000))),
  }),
  result: z.strictObject({
    files: z.array(z.strictObject({ name: nameText, ...infoFields })),
    isCut: z.boolean(),
  }),
  run: ({ sandbox: id, path, most = USUAL_FILES }, { server }) => {
    const sandbox = server.find(id);
    return sandbox.use(async () => {
      const { files } = sandbox.parts.sandbox;
      const { files: found, isCut } = await files.list(pathOf(sandbox, path), most);
      return {
        files: found.map((file) => ({ name: toName(file.name), ...toInfo(file) })),
        isCut,
      };
    });
  },
});

const remove = method({
  summary: "Removes a file, a link or an empty directory; with recursive all that is in it. With " +
    "mayMiss it need not be there.",
  params: z.strictObject({
    ...where,
    recursive: z.optional(z.boolean()),
    mayMiss: z.optional(z.boolean()),
  }),
  result: z.strictObject({ removed: z.boolean() }),
  run: ({ sandbox: id, path: wish, recursive = false, mayMiss = false }, { server, call }) => {
    const sandbox = server.find(id);
    return sandbox.change(async (gone) => {
      const path = pathOf(sandbox, wish);
      const signal = AbortSignal.any([gone, call.signal]);
      try {
        if (recursive) {
          await removeTreeInside(server.node, { sandbox: sandbox.parts.sandbox, path, signal });
        } else await sandbox.parts.sandbox.files.remove(path);
        return { removed: true };
      } catch (error) {
        if (mayMiss && error instanceof NotFoundError) return { removed: false };
        throw error;
      }
    });
  },
});

const makeDir = method({
  summary: "Makes a directory and its parents; one that is there stays as it is. Without " +
    "makeParents its parent must be there, and it must not.",
  params: z.strictObject({
    ...where,
    mode: z.optional(permissions),
    owner: z.optional(ownerWish),
    makeParents: z.optional(z.boolean()),
  }),
  result: z.strictObject({}),
  run: ({ sandbox: id, path, mode = 0o755, owner, makeParents = true }, site) => {
    const sandbox = site.server.find(id);
    return sandbox.change(async () => {
      await sandbox.parts.sandbox.files.makeDirectory(pathOf(sandbox, path), {
        mode,
        owner: ownerOf(sandbox, owner, site.server.node),
        makeParents,
      });
      return {};
    });
  },
});

/** Methods by their names. */
export const fileMethods = {
  "file.read": read,
  "file.write": write,
  "file.stat": stat,
  "file.list": list,
  "file.remove": remove,
  "file.makeDir": makeDir,
};

function toInfo(
  { type, size, mode, uid, gid, links, mtimeNs, target }: Omit<ListedFile, "name">,
): z.infer<z.ZodMiniObject<typeof infoFields>> {
  return {
    type,
    size,
    mode,
    uid,
    gid,
    links,
    mtimeMs: Number(mtimeNs / 1000n) / 1000,
    ...(target === null ? {} : { target: toName(target) }),
  };
}

async function collect(pieces: AsyncIterable<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
  let bytes = new Uint8Array(64 * 1024);
  let used = 0;
  for await (const piece of pieces) {
    if (used + piece.length > bytes.length) {
      const larger = new Uint8Array(Math.max(2 * bytes.length, used + piece.length));
      larger.set(bytes.subarray(0, used));
      bytes = larger;
    }
    bytes.set(piece, used);
    used += piece.length;
  }
  return bytes.subarray(0, used);
}
