/** One path that is not what it was. */
import { type FileStatus, S } from "../../ffi/mod.ts";

/** What can have a name, as far as a patch tells it apart. */
export type FileKind = "file" | "directory" | "symlink" | "other";

/** How it is not what it was. */
export type ChangeStatus = "added" | "deleted" | "modified" | "typeChanged" | "attributesChanged";

/** A path and how it changed. */
export interface Change {
  /** Beneath the root, text with one character a byte. */
  readonly path: string;
  readonly status: ChangeStatus;
  readonly before: Side | null;
  readonly after: Side | null;
}

/** What something is, or was. */
export interface Side {
  readonly kind: FileKind;
  /** Its permissions. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly size: number;
}

const KINDS: Readonly<Record<number, FileKind>> = {
  [S.S_IFREG]: "file",
  [S.S_IFDIR]: "directory",
  [S.S_IFLNK]: "symlink",
};

/** Names the kind of a file. */
export function kindOf({ mode }: Pick<FileStatus, "mode">): FileKind {
  return KINDS[mode & S.S_IFMT] ?? "other";
}

/** Tells what a status says. */
export function toSide(status: FileStatus): Side {
  const { mode, uid, gid, size } = status;
  return { kind: kindOf(status), mode: mode & 0o7777, uid, gid, size };
}
