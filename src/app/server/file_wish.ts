/** Paths, owners and text of files as callers give and get them. */
import * as z from "zod/mini";
import { UsageError } from "../../errors.ts";
import { type FileOwner, parseInsidePath, showPath, toPathBytes } from "../../sandbox/mod.ts";
import type { Node } from "../node.ts";
import { findUser } from "../user.ts";
import type { LiveSandbox } from "./live_sandbox.ts";
import { type BytesWish, toBytes } from "./text.ts";

/** The permissions of a file. */
export const permissions = z.int().check(z.nonnegative(), z.maximum(0o7777));

/** Whom a file is given to: a user of the sandbox, by name or id, or two ids. */
export const ownerWish = z.union([
  z.string(),
  z.int().check(z.nonnegative()),
  z.strictObject({ uid: z.int().check(z.nonnegative()), gid: z.int().check(z.nonnegative()) }),
]);

/** A name inside: text, and its bytes where they are no text. */
export const nameText = z.strictObject({
  text: z.string(),
  base64: z.optional(z.string()),
});

/** Gives a path inside; what is not absolute begins at the sandbox's working directory. */
export function pathOf({ parts }: LiveSandbox, wish: BytesWish): string {
  const bytes = toBytes(wish);
  if (bytes[0] === 0x2f) return parseInsidePath(bytes);
  const workdir = new TextEncoder().encode(`${parts.spec.workdir.replace(/\/+$/, "")}/`);
  return parseInsidePath(new Uint8Array([...workdir, ...bytes]));
}

/** Gives the ids of an owner; null if nothing is said. */
export function ownerOf(
  { parts }: LiveSandbox,
  wish: z.infer<typeof ownerWish> | undefined,
  { host }: Node,
): FileOwner | null {
  if (wish === undefined) return null;
  if (typeof wish === "object") return wish;
  const { uid, gid } = findUser(parts.prepared.base.users, wish, host);
  return { uid, gid };
}

/** Tells a name of one character a byte. */
export function toName(name: string): z.infer<typeof nameText> {
  const bytes = toPathBytes(name);
  const text = new TextDecoder().decode(bytes);
  return text.includes("\ufffd") ? { text, base64: bytes.toBase64() } : { text };
}

/** Encodings by which bytes are text: those that the platform's decoder knows, and `latin1` as it is. */
export function decode(
  bytes: Uint8Array,
  { encoding, isStrict, path }: {
    readonly encoding: string;
    readonly isStrict: boolean;
    readonly path: string;
  },
): string {
  if (/^(latin-?1|iso-?8859-1)$/i.test(encoding)) {
    let text = "";
    for (let at = 0; at < bytes.length; at += 8192) {
      text += String.fromCharCode(...bytes.subarray(at, at + 8192));
    }
    return text;
  }
  if (!isStrict) return decoderOf(encoding, false).decode(bytes);
  try {
    return decoderOf(encoding, true).decode(bytes);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new UsageError(
      `Cannot read ${showPath(path)} as ${encoding}: byte ${faultOf(bytes, encoding)} is not`,
      { cause: error, remedy: 'Give errors "replace", another encoding, or base64.' },
    );
  }
}

function decoderOf(encoding: string, fatal: boolean): TextDecoder {
  try {
    return new TextDecoder(encoding, { fatal, ignoreBOM: true });
  } catch {
    throw new UsageError(`Cannot read as ${JSON.stringify(encoding)}: there is no such encoding`);
  }
}

/** Finds where text ends that can be read: the longest beginning that is whole so far. */
function faultOf(bytes: Uint8Array, encoding: string): number {
  let good = 0;
  let bad = bytes.length;
  while (good < bad) {
    const middle = (good + bad + 1) >> 1;
    try {
      decoderOf(encoding, true).decode(bytes.subarray(0, middle), { stream: true });
      good = middle;
    } catch {
      bad = middle - 1;
    }
  }
  // A character that is only begun is taken, in a stream.
  while (good > 0 && !isWhole(bytes.subarray(0, good), encoding)) good--;
  return good;
}

function isWhole(bytes: Uint8Array, encoding: string): boolean {
  try {
    decoderOf(encoding, true).decode(bytes);
    return true;
  } catch {
    return false;
  }
}
