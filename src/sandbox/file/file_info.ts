/** What is told of a file inside. */
import { type FileStatus, S } from "../../../ffi/mod.ts";

/** What can have a name. */
export type FileType =
  | "file"
  | "directory"
  | "symlink"
  | "fifo"
  | "socket"
  | "charDevice"
  | "blockDevice";

/** A file, or whatever else has a name. */
export interface FileInfo {
  readonly type: FileType;
  readonly size: number;
  /** Its permissions. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly links: number;
  readonly mtimeNs: bigint;
}

const TYPES: Readonly<Record<number, FileType>> = {
  [S.S_IFREG]: "file",
  [S.S_IFDIR]: "directory",
  [S.S_IFLNK]: "symlink",
  [S.S_IFIFO]: "fifo",
  [S.S_IFSOCK]: "socket",
  [S.S_IFCHR]: "charDevice",
  [S.S_IFBLK]: "blockDevice",
};

/** Turns a status into what is told. */
export function toFileInfo(status: FileStatus): FileInfo {
  const { size, mode, uid, gid, links, mtimeNs } = status;
  return { type: typeOf(status), size, mode: mode & 0o7777, uid, gid, links, mtimeNs };
}

/** Names the type of a file. */
export function typeOf({ mode }: Pick<FileStatus, "mode">): FileType {
  return TYPES[mode & S.S_IFMT] ?? "file";
}

/** Says what something is, where a regular file was wanted. */
export const NO_FILE: Readonly<Record<Exclude<FileType, "file">, string>> = {
  directory: "it is a directory",
  symlink: "it is a symbolic link",
  fifo: "it is a FIFO, not a regular file",
  socket: "it is a socket, not a regular file",
  charDevice: "it is a device, not a regular file",
  blockDevice: "it is a device, not a regular file",
};
