/** Methods that move files and trees between the host and a sandbox, of any size. */
import * as z from "zod/mini";
import { UsageError } from "../../../errors.ts";
import { readFileInside, showPath, writeFile } from "../../../sandbox/mod.ts";
import {
  hostKind,
  mustBeOnHost,
  packTreeInside,
  readHostFile,
  unpackTreeInside,
  writeHostFile,
} from "../file_tree.ts";
import { ownerOf, ownerWish, pathOf, permissions } from "../file_wish.ts";
import { method } from "../method.ts";
import { byteCount, bytesWish, sandboxId } from "../schema.ts";
import { downloadTree } from "../download_tree.ts";

const owners = z.enum(["keep", "root"]);

const upload = method({
  summary:
    "Copies a file or a directory of the host into a sandbox, or unpacks a tar (plain, gzip " +
    "or zstd) there. What lies in a directory is laid over what is there.",
  params: z.strictObject({
    sandbox: sandboxId,
    path: bytesWish,
    hostPath: z.optional(z.string()),
    archive: z.optional(z.string()),
    mode: z.optional(permissions),
    owner: z.optional(ownerWish),
    owners: z.optional(owners),
  }),
  result: z.strictObject({ entries: z.int(), bytes: byteCount }),
  example: {
    params: { sandbox: "sb-5f1c09aa-1", hostPath: "/data/tests", path: "/testbed/tests" },
    result: { entries: 12, bytes: 34567 },
  },
  run: ({ sandbox: id, path: wish, hostPath, archive, mode, owner, owners }, { server, call }) => {
    const sandbox = server.find(id);
    return sandbox.change(async (gone) => {
      const path = pathOf(sandbox, wish);
      const signal = AbortSignal.any([gone, call.signal]);
      const spot = { sandbox: sandbox.parts.sandbox, path, signal };
      if ((hostPath === undefined) === (archive === undefined)) {
        throw new UsageError("Cannot upload: give either hostPath or archive");
      }
      const from = hostPath ?? archive!;
      const kind = mustBeOnHost(from);
      const isTree = archive !== undefined || kind === "directory";
      if (isTree && (mode !== undefined || owner !== undefined)) {
        throw new UsageError(
          "Cannot upload a tree with a mode or an owner: each file has its own",
          {
            remedy: 'Give owners "root" or "keep".',
          },
        );
      }
      if (!isTree) {
        const bytes = await writeFile(
          spot.sandbox.files,
          path,
          watched(readHostFile(from), signal),
          {
            mode: mode ?? (Deno.statSync(from).mode ?? 0o644) & 0o777,
            owner: ownerOf(sandbox, owner, server.node),
            makeParents: true,
            isAtomic: true,
          },
        );
        return { entries: 1, bytes };
      }
      using _turn = await server.transfers.enter(call.caller, signal);
      if (archive !== undefined) {
        return await unpackTreeInside(server.node, spot, {
          tar: archive,
          name: archive,
          owners: owners ?? "keep",
        });
      }
      const { packDirectories } = await import("../../../archive/mod.ts");
      const tar = packDirectories([{ dir: from, at: "" }], {
        name: from,
        owners: owners ?? "root",
        mtime: "keep",
        level: null,
        whiteouts: "plain",
        signal,
      });
      return await unpackTreeInside(server.node, spot, {
        tar,
        name: from,
        owners: owners ?? "root",
      });
    });
  },
});

const download = method({
  summary: "Copies a file or a directory of a sandbox to the host, or packs a directory as a tar " +
    "there (in gzip, if its name ends in gz). Files become the caller's own.",
  params: z.strictObject({
    sandbox: sandboxId,
    path: bytesWish,
    hostPath: z.optional(z.string()),
    archive: z.optional(z.string()),
  }),
  result: z.strictObject({ bytes: byteCount, notes: z.array(z.string()) }),
  example: {
    params: { sandbox: "sb-5f1c09aa-1", path: "/testbed/report.xml", hostPath: "/out/report.xml" },
    result: { bytes: 4711, notes: [] },
  },
  run: ({ sandbox: id, path: wish, hostPath, archive }, { server, call }) => {
    const sandbox = server.find(id);
    return sandbox.use(async (gone) => {
      const path = pathOf(sandbox, wish);
      const signal = AbortSignal.any([gone, call.signal]);
      const spot = { sandbox: sandbox.parts.sandbox, path, signal };
      if ((hostPath === undefined) === (archive === undefined)) {
        throw new UsageError("Cannot download: give either hostPath or archive");
      }
      const to = hostPath ?? archive!;
      const there = hostKind(to);
      const { type, mode } = await spot.sandbox.files.stat(path, true);
      if (type !== "directory") {
        if (archive !== undefined) {
          throw new UsageError(`Cannot pack ${showPath(path)}: it is no directory`);
        }
        if (there === "directory") {
          throw new UsageError(`Cannot write ${JSON.stringify(to)}: it is a directory`);
        }
        const all = { offset: 0, length: Number.MAX_SAFE_INTEGER };
        const source = watched(readFileInside(spot.sandbox.files, path, all), signal);
        const bytes = await writeHostFile(to, mode & 0o777, async (write) => {
          for await (const piece of source) await write(piece);
        });
        return { bytes, notes: [] };
      }
      using _turn = await server.transfers.enter(call.caller, signal);
      const notes: string[] = [];
      const onNote = (note: string) => {
        if (notes.length < MOST_NOTES) notes.push(note);
      };
      if (archive !== undefined) {
        const level = /gz$/i.test(archive) ? 6 : null;
        const bytes = await writeHostFile(
          archive,
          0o644,
          (write) => packTreeInside(server.node, spot, { level, onNote, write }),
        );
        return { bytes, notes };
      }
      if (there === "file") {
        throw new UsageError(`Cannot download to ${JSON.stringify(to)}: it is a file`);
      }
      return { bytes: await downloadTree(server.node, spot, to, onNote), notes };
    });
  },
});

/** So much of what was left out is told. */
const MOST_NOTES = 100;

/** Methods by their names. */
export const transferMethods = { "file.upload": upload, "file.download": download };

async function* watched(
  source: AsyncIterable<Uint8Array<ArrayBuffer>>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  for await (const piece of source) {
    signal.throwIfAborted();
    yield piece;
  }
}
