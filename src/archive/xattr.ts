/** Extended attributes: which are kept, and how they are read. */
import { getXattr, isErrno, listXattrs } from "../../ffi/mod.ts";
import { toCString } from "./byte_text.ts";
import type { Xattr } from "./entry.ts";

/** Reads the attributes of a file that an archive keeps, sorted; tells of each that is left out. */
export function readXattrs(fd: number, onLeftOut: (name: string) => void): Xattr[] {
  const xattrs: Xattr[] = [];
  for (const name of list(fd).sort()) {
    if (isOfOverlay(name)) continue;
    if (!isKept(name)) {
      onLeftOut(name);
      continue;
    }
    const value = get(fd, name);
    if (value !== null) xattrs.push({ name, value });
  }
  return xattrs;
}

/** Says whether an attribute is overlayfs's own: in an archive it would hide files of other layers. */
export function isOfOverlay(name: string): boolean {
  return /^(?:user|trusted)\.overlay\./.test(name);
}

/** Says whether an attribute belongs to the file, and not to the system that it lies on. */
export function isKept(name: string): boolean {
  return name.startsWith("user.") || name === "security.capability";
}

function list(fd: number): string[] {
  try {
    return listXattrs(fd);
  } catch (error) {
    if (!isErrno(error, "EOPNOTSUPP")) throw error;
    return [];
  }
}

function get(fd: number, name: string): Uint8Array<ArrayBuffer> | null {
  try {
    return getXattr(fd, toCString(name));
  } catch (error) {
    // A capability that belongs to another user namespace cannot be read.
    if (!isErrno(error, "ENODATA", "EOVERFLOW")) throw error;
    return null;
  }
}
