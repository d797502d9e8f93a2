/** What the type character of a header stands for. */
import type { EntryKind } from "./entry.ts";

const kinds: Readonly<Record<string, EntryKind>> = {
  "0": "file",
  "1": "link",
  "2": "symlink",
  "5": "directory",
  "6": "fifo",
  "7": "file", // contiguous, which no system of today has
};

const refusals: Readonly<Record<string, string>> = {
  "3": "is a character device",
  "4": "is a block device",
  "D": "is a GNU incremental directory, which is not supported",
  "M": "continues from another volume",
  "N": "is a list of names of an old GNU tar, which is not supported",
  "S": "is a GNU sparse file, which is not supported",
};

/** Gives the kind of entry that a type and a name make, or null if they can make none. */
export function toKind(type: string, name: Uint8Array): EntryKind | null {
  // Before POSIX there was no type for a directory but a slash at the end of its name.
  if (type === "0" && name.at(-1) === 0x2f) return "directory";
  return kinds[type] ?? null;
}

/** Says why an entry of a type without a kind is refused. */
export function refusalOf(type: string): string {
  return refusals[type] ?? `is of an unknown type, ${JSON.stringify(type)}`;
}
