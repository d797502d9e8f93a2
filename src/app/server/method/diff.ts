/** The method that tells what programs changed. */
import * as z from "zod/mini";
import type { Change } from "../../../diff/mod.ts";
import { diffSandbox } from "../diff.ts";
import { nameText, pathOf, permissions, toName } from "../file_wish.ts";
import { method } from "../method.ts";
import { byteCount, bytesWish, sandboxId, text } from "../schema.ts";
import { toText } from "../text.ts";

/** What an answer holds, if nothing is said, and at most. */
const USUAL_PATCH_BYTES = 8 * 2 ** 20;
const MOST_PATCH_BYTES = 24 * 2 ** 20;
const USUAL_CHANGES = 10_000;

const side = z.strictObject({
  type: z.enum(["file", "directory", "symlink", "other"]),
  mode: permissions,
  uid: z.int(),
  gid: z.int(),
  size: byteCount,
});

const change = z.strictObject({
  path: nameText,
  status: z.enum(["added", "deleted", "modified", "typeChanged", "attributesChanged"]),
  before: z.nullable(side),
  after: z.nullable(side),
});

const diff = method({
  summary: "Tells what has changed since a sandbox was made of its layers: as a list, as a patch " +
    "that git apply takes, or both. Of a root, paths are told from there, and its .git is left out.",
  params: z.strictObject({
    sandbox: sandboxId,
    format: z.optional(z.enum(["list", "unified", "both"])),
    root: z.optional(bytesWish),
    paths: z.optional(z.array(z.string())),
    exclude: z.optional(z.array(z.string())),
    base64: z.optional(z.boolean()),
    mostChanges: z.optional(z.int().check(z.positive(), z.maximum(100_000))),
    mostPatchBytes: z.optional(byteCount.check(z.maximum(MOST_PATCH_BYTES))),
  }),
  result: z.strictObject({
    changes: z.optional(z.array(change)),
    patch: z.optional(text),
    isCut: z.boolean(),
  }),
  example: {
    params: { sandbox: "sb-5f1c09aa-1", root: "/testbed", format: "unified" },
    result: {
      patch: {
        text: "diff --git a/f b/f\nnew file mode 100644\nindex 0000000..e69de29\n",
        lossy: false,
      },
      isCut: false,
    },
  },
  run: (params, { server, call }) => {
    const sandbox = server.find(params.sandbox);
    const { format = "both", root, paths, exclude = [], base64 = false } = params;
    return sandbox.use(async (gone) => {
      const signal = AbortSignal.any([gone, call.signal]);
      using _turn = await server.transfers.enter(call.caller, signal);
      const directory = pathOf(sandbox, root ?? "/");
      const { changes, patch, isCut } = await diffSandbox(server.node, sandbox, {
        root: directory,
        paths: paths?.map((path) => fromRoot(path, directory)) ?? null,
        exclude: root === undefined ? exclude : ["/.git", ...exclude],
        hasPatch: format !== "list",
        mostChanges: params.mostChanges ?? USUAL_CHANGES,
        mostPatchBytes: params.mostPatchBytes ?? USUAL_PATCH_BYTES,
        signal,
      });
      return {
        ...(format === "unified" ? {} : { changes: changes.map(toChange) }),
        ...(format === "list" ? {} : { patch: toText(patch, base64) }),
        isCut,
      };
    });
  },
});

/** Methods by their names. */
export const diffMethods = { "sandbox.diff": diff };

/** A path is one of the sandbox if it is absolute, else one beneath the root. */
function fromRoot(path: string, root: string): string {
  const bytes = String.fromCharCode(...new TextEncoder().encode(path));
  const plain = (text: string) => text.split("/").filter((name) => name !== "").join("/");
  if (!path.startsWith("/")) return plain(bytes);
  const above = plain(root);
  const whole = plain(bytes);
  if (above === "" || whole === above) return whole === above ? "" : whole;
  return whole.startsWith(`${above}/`) ? whole.slice(above.length + 1) : OUTSIDE;
}

/** What no path is. */
const OUTSIDE = "\0";

function toChange({ path, status, before, after }: Change): z.infer<typeof change> {
  return { path: toName(path), status, before: toSide(before), after: toSide(after) };
}

function toSide(side: Change["before"]): z.infer<typeof change>["before"] {
  if (side === null) return null;
  const { kind, ...rest } = side;
  return { type: kind, ...rest };
}
