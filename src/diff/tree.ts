/** A tree that others may be changing, looked at beneath a descriptor and through no link. */
import {
  AT,
  close,
  type CString,
  type FileStatus,
  getXattr,
  isErrno,
  lstatAt,
  O,
  openAt,
  openAt2,
  readDirectory,
  readLinkAt,
  RESOLVE,
  S,
  SEEK,
  seek,
  statFd,
} from "../../ffi/mod.ts";

/** A name or path of one character a byte, as the kernel takes it. */
export function toCString(text: string): CString {
  return /[\x80-\xff]/.test(text)
    ? Uint8Array.from(text, (character) => character.charCodeAt(0))
    : text;
}

/** Joins a directory, "" for the root, and a name. */
export function join(directory: string, name: string): string {
  return directory === "" ? name : `${directory}/${name}`;
}

/** Opens a directory given by its path on the host. */
export function openRoot(path: string): number {
  return openAt(AT.AT_FDCWD, path, O.O_DIRECTORY | O.O_CLOEXEC);
}

/** Opens a directory in another; null if there is none of this name. */
export function openDirectory(parent: number, name: string): number | null {
  return ifThere(() => openAt(parent, toCString(name), O.O_DIRECTORY | O.O_NOFOLLOW | O.O_CLOEXEC));
}

/** Opens a directory by its path beneath a root; null if there is none. */
export function openBeneath(root: number, path: string): number | null {
  return ifThere(() =>
    openAt2(root, toCString(path === "" ? "." : path), {
      flags: O.O_DIRECTORY | O.O_NOFOLLOW | O.O_CLOEXEC,
      resolve: RESOLVE.RESOLVE_BENEATH | RESOLVE.RESOLVE_NO_SYMLINKS |
        RESOLVE.RESOLVE_NO_MAGICLINKS,
    })
  );
}

/** Looks at a name; null if nothing has it. */
export function look(directory: number | null, name: string): FileStatus | null {
  if (directory === null) return null;
  return ifThere(() => lstatAt(directory, toCString(name)));
}

/** Opens a regular file; null if there is none of this name any more. */
export function openFile(directory: number, name: string): number | null {
  const flags = O.O_NOFOLLOW | O.O_NONBLOCK | O.O_NOCTTY | O.O_CLOEXEC;
  const fd = ifThere(() => openAt(directory, toCString(name), flags));
  if (fd === null || (statFd(fd).mode & S.S_IFMT) === S.S_IFREG) return fd;
  close(fd);
  return null;
}

/** Reads where a link leads; null if there is none of this name any more. */
export function readLink(directory: number, name: string): Uint8Array<ArrayBuffer> | null {
  return ifThere(() => readLinkAt(directory, toCString(name)));
}

/** Lists the names in a directory. */
export function listNames(directory: number | null): string[] {
  if (directory === null) return [];
  const names: string[] = [];
  seek(directory, 0, SEEK.SEEK_SET);
  for (let found = readDirectory(directory); found !== null; found = readDirectory(directory)) {
    for (const { name } of found) names.push(name);
  }
  return names;
}

/** Says whether what lies below a directory of an upper is not what its own path has below. */
export function hidesBelow(directory: number): boolean {
  return MARKS.some((name) => hasAttribute(directory, name));
}

const MARKS = ["opaque", "redirect"].map((mark) => `user.overlay.${mark}`);

function hasAttribute(fd: number, name: string): boolean {
  try {
    getXattr(fd, name);
    return true;
  } catch (error) {
    if (!isErrno(error, "ENODATA", "EOPNOTSUPP")) throw error;
    return false;
  }
}

/** What is said of a name that is gone, or of another kind than it was when it was looked at. */
const OTHER_KIND = ["ENOENT", "ENOTDIR", "ELOOP", "ENXIO", "EXDEV", "EINVAL"] as const;

/** What is gone, or of another kind, is not there. */
function ifThere<T>(call: () => T): T | null {
  try {
    return call();
  } catch (error) {
    if (!isErrno(error, ...OTHER_KIND)) throw error;
    return null;
  }
}
