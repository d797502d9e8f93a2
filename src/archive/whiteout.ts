/** Marks that hide what lies in the layers below: overlayfs's own, and those of OCI layers. */
import { type FileStatus, getXattr, isErrno, S, setXattr } from "../../ffi/mod.ts";
import type { EntryKind } from "./entry.ts";
import { splitPath } from "./path.ts";
import type { Place } from "./place.ts";

/** What a name begins with that hides the name after it (OCI image spec, layer.md). */
export const WHITEOUT_PREFIX = ".wh.";

/** The name that hides all that the layers below have in a directory. */
export const OPAQUE_NAME = ".wh..wh..opq";

/** What else such names are, of a file system that came before overlayfs. */
const META_PREFIX = ".wh..wh.";

/** The attribute by which overlayfs mounted with `userxattr` knows a directory as opaque. */
const OPAQUE_XATTR = "user.overlay.opaque";

/** Says whether overlayfs shows nothing from below a directory. */
export function isOpaque(fd: number): boolean {
  try {
    return getXattr(fd, OPAQUE_XATTR)[0] === 0x79; // "y"
  } catch (error) {
    if (!isErrno(error, "ENODATA", "EOPNOTSUPP")) throw error;
    return false;
  }
}

/** Makes overlayfs show nothing from below a directory. @throws {SyscallError} If refused. */
export function setOpaque(fd: number): void {
  setXattr(fd, OPAQUE_XATTR, Uint8Array.of(0x79));
}

/** Says whether a file is the device by which overlayfs hides its name. */
export function isWhiteout({ mode, special }: FileStatus): boolean {
  return (mode & S.S_IFMT) === S.S_IFCHR && special === "0:0";
}

/** What an OCI layer hides: a name, or all that lies below a directory. */
export interface Mark {
  readonly kind: "whiteout" | "opaque";
  readonly path: string;
}

/**
 * Reads an entry's path as a mark of an OCI layer; null if it is none.
 *
 * @throws {ArchiveError} If it is one, but hides nothing that can have a name.
 */
export function parseMark(path: string, kind: EntryKind, place: Place): Mark | null {
  if (!path.includes(WHITEOUT_PREFIX)) return null;
  const { directory, leaf } = splitPath(path);
  if (`/${directory}`.includes(`/${WHITEOUT_PREFIX}`)) throw place.refuse("lies in a whiteout");
  if (!leaf.startsWith(WHITEOUT_PREFIX)) return null;
  if (kind !== "file") throw place.refuse("is a whiteout that is no file");
  if (leaf === OPAQUE_NAME) return { kind: "opaque", path: directory };
  const name = leaf.slice(WHITEOUT_PREFIX.length);
  if (leaf.startsWith(META_PREFIX) || ["", ".", ".."].includes(name)) {
    throw place.refuse("is a whiteout of no name");
  }
  return { kind: "whiteout", path: directory === "" ? name : `${directory}/${name}` };
}
