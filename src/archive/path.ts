/** Names of entries as paths beneath a root: kept as text with one character for each byte. */
import { toByteText } from "./byte_text.ts";
import type { Place } from "./place.ts";

/**
 * Turns an entry's name into a path beneath the root: no `.`, no empty part, no slash at either
 * end; the root itself is "". Each character stands for one byte.
 *
 * @throws {ArchiveError} If it is empty, absolute, holds `..` or a NUL byte, or is too deep.
 */
export function parsePath(
  name: Uint8Array,
  options: { readonly place: Place; readonly maxDepth: number; readonly what?: string },
): string {
  const { place, maxDepth, what = "name" } = options;
  if (name.length === 0) throw place.refuse(`has no ${what}`);
  if (name[0] === 0x2f) throw place.refuse(`has an absolute ${what}`);
  const path = toByteText(name);
  if (path.includes("\0")) throw place.refuse(`has a NUL byte in its ${what}`);
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.includes("..")) throw place.refuse(`has ".." in its ${what}`);
  if (parts.length > maxDepth) throw place.refuse(`lies more than ${maxDepth} directories deep`);
  return parts.join("/");
}

/** Splits a path into its directory ("" for the root) and its last part. */
export function splitPath(path: string): { readonly directory: string; readonly leaf: string } {
  const slash = path.lastIndexOf("/");
  return slash === -1
    ? { directory: "", leaf: path }
    : { directory: path.slice(0, slash), leaf: path.slice(slash + 1) };
}
