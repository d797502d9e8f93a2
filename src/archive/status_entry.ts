/** What a file's status becomes in an archive. */
import type { FileStatus } from "../../ffi/mod.ts";
import { fromByteText } from "./byte_text.ts";
import type { PackedEntry } from "./entry.ts";
import { toTime } from "./live.ts";

/** What is kept of it. */
export interface EntryPolicy {
  readonly owners: "keep" | "root";
  readonly mtime: "keep" | number;
}

/** Makes an entry without content, target or attributes. */
export function toEntry(
  kind: PackedEntry["kind"],
  path: string,
  status: Pick<FileStatus, "mode" | "uid" | "gid" | "mtimeNs">,
  { owners, mtime }: EntryPolicy,
): PackedEntry {
  return {
    kind,
    name: fromByteText(path),
    target: new Uint8Array(0),
    mode: status.mode & 0o7777,
    uid: owners === "keep" ? status.uid : 0,
    gid: owners === "keep" ? status.gid : 0,
    size: 0,
    extents: null,
    mtime: mtime === "keep" ? toTime(status.mtimeNs) : { seconds: mtime, nanoseconds: 0 },
    xattrs: [],
  };
}

/** Makes the empty file that is an OCI layer's mark. */
export function toMark(path: string): PackedEntry {
  const nothing = { mode: 0, uid: 0, gid: 0, mtimeNs: 0n };
  return toEntry("file", path, nothing, { owners: "root", mtime: 0 });
}
