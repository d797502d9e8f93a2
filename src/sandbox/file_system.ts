/** What kind of file system a path lies on. */
import { AT, closeQuietly, isErrno, MAGIC, O, openAt, setXattr, statfs } from "../../ffi/mod.ts";

const NAMES: Readonly<Record<number, string>> = {
  [MAGIC.OVERLAYFS_SUPER_MAGIC]: "overlay",
  [MAGIC.NFS_SUPER_MAGIC]: "nfs",
  [MAGIC.SMB2_SUPER_MAGIC]: "cifs",
  [MAGIC.FUSE_SUPER_MAGIC]: "fuse",
  [MAGIC.TMPFS_MAGIC]: "tmpfs",
};

/** Names the file systems that sandboxes treat differently; others are "disk". */
export function fileSystemOf(path: string): string {
  return NAMES[statfs(path).type] ?? "disk";
}

/** Gives the bytes free for a user, and the files he can make; null where no number bounds them. */
export function freeSpace(
  path: string,
): { readonly bytes: number; readonly files: number | null } {
  const { freeBytes, freeFiles } = statfs(path);
  return { bytes: freeBytes, files: freeFiles };
}

/** Says whether a directory can have attributes as overlays of users set them (xattr(7)). */
export function holdsAttributes(dir: string): boolean {
  const fd = openAt(AT.AT_FDCWD, dir, O.O_DIRECTORY | O.O_CLOEXEC);
  try {
    setXattr(fd, "user.minisandbox", new Uint8Array([1]));
    return true;
  } catch (error) {
    if (isErrno(error, "EOPNOTSUPP", "EPERM")) return false;
    throw error;
  } finally {
    closeQuietly(fd);
  }
}
