/** What the type character of a header stands for. */
import type { EntryKind } from "./entry.ts";
import type { Header } from "./header.ts";

const kinds: Readonly<Record<string, EntryKind>> = {
  "0": "file",
  "1": "link",
  "2": "symlink",
  "3": "device",
  "4": "device",
  "5": "directory",
  "6": "fifo",
  "7": "file", // contiguous, which no system of today has
  "S": "file", // sparse, as GNU tar wrote it before pax
};

const refusals: Readonly<Record<string, string>> = {
  "D": "is a GNU incremental directory, which is not supported",
  "M": "continues from another volume",
  "N": "is a list of names of an old GNU tar, which is not supported",
};

/** Gives the kind of entry that a header makes under a name, or null if it can make none. */
export function toKind({ type, isDeviceZero }: Header, name: Uint8Array): EntryKind | null {
  // Before POSIX there was no type for a directory but a slash at the end of its name.
  if (type === "0" && name.at(-1) === 0x2f) return "directory";
  if (type === "3" && isDeviceZero) return "whiteout";
  return kinds[type] ?? null;
}

/** Says why an entry of a type without a kind is refused. */
export function refusalOf(type: string): string {
  return refusals[type] ?? `is of an unknown type, ${JSON.stringify(type)}`;
}
