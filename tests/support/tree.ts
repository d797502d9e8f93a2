/** A tree as one line for each thing in it, so that two trees can be compared. */
import { assertEquals } from "@std/assert";
import { createHash } from "node:crypto";
import {
  AT,
  close,
  getXattr,
  isErrno,
  listXattrs,
  lstatAt,
  O,
  openAt,
  read,
  S,
  SEEK,
  seek,
} from "../../ffi/mod.ts";

/** Describes all beneath a directory, and itself as ".": type, mode, time, content or target. */
export function describeTree(
  root: string,
  options: {
    readonly owners?: boolean;
    readonly xattrs?: boolean;
    readonly skip?: (path: string) => boolean;
  } = {},
): string[] {
  const lines: string[] = [];
  const visit = (path: string): void => {
    if (options.skip?.(path)) return;
    const full = path === "." ? root : `${root}/${path}`;
    const { mode, uid, gid, links, mtimeNs, size, special } = lstatAt(AT.AT_FDCWD, full);
    const kind = mode & S.S_IFMT;
    const parts: (string | number | bigint)[] = [JSON.stringify(path), mode.toString(8), mtimeNs];
    if (options.owners) parts.push(uid, gid);
    if (kind === S.S_IFLNK) parts.push(JSON.stringify(Deno.readLinkSync(full)));
    if (kind === S.S_IFREG) parts.push(size, links, digest(full));
    if (kind === S.S_IFCHR || kind === S.S_IFBLK) parts.push(special);
    if (options.xattrs && (kind === S.S_IFREG || kind === S.S_IFDIR)) parts.push(xattrs(full));
    lines.push(parts.join(" "));
    if (kind !== S.S_IFDIR) return;
    for (const { name } of Deno.readDirSync(full)) visit(path === "." ? name : `${path}/${name}`);
  };
  visit(".");
  return lines.sort();
}

function xattrs(path: string): string {
  const fd = openAt(AT.AT_FDCWD, path, O.O_NOFOLLOW | O.O_CLOEXEC);
  try {
    return listXattrs(fd).sort().map((name) => `${name}=${getXattr(fd, name).toHex()}`).join(" ");
  } finally {
    close(fd);
  }
}

/** Hashes a file's blocks that are not all zero, so that a hole is the same as the zeros it stands for. */
function digest(path: string): string {
  const { mode } = Deno.lstatSync(path);
  if (Deno.uid() !== 0 && (mode! & 0o400) === 0) return "closed";
  const hash = createHash("sha256");
  const block = new Uint8Array(4096);
  const fd = openAt(AT.AT_FDCWD, path, O.O_NOFOLLOW | O.O_CLOEXEC);
  try {
    for (let at = nextData(fd, 0); at !== null;) {
      const length = read(fd, block);
      if (length === 0) break;
      const bytes = block.subarray(0, length);
      if (bytes.some((byte) => byte !== 0)) hash.update(`${at} ${length} `).update(bytes);
      at = length === block.length ? nextData(fd, at + length) : null;
    }
  } finally {
    close(fd);
  }
  return hash.digest("hex");
}

/** Goes on to the next block that is no hole, and gives its offset. */
function nextData(fd: number, from: number): number | null {
  try {
    const at = seek(fd, from, SEEK.SEEK_DATA);
    return seek(fd, at - at % 4096, SEEK.SEEK_SET);
  } catch (error) {
    if (!isErrno(error, "ENXIO")) throw error;
    return null;
  }
}

/** Makes sure that two trees are the same, and shows only what differs. */
export function assertSameTree(actual: readonly string[], expected: readonly string[]): void {
  const [has, wants] = [new Set(actual), new Set(expected)];
  assertEquals({
    unexpected: actual.filter((line) => !wants.has(line)),
    missing: expected.filter((line) => !has.has(line)),
  }, { unexpected: [], missing: [] });
}

/** Says whether something has this name, be it a link that leads nowhere. */
export function exists(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return false;
  }
}
