/** A tree as one line for each thing in it, so that two trees can be compared. */
import { createHash } from "node:crypto";
import { AT, lstatAt, S } from "../../ffi/mod.ts";

/** Describes all beneath a directory, and itself as ".": type, mode, time, content or target. */
export function describeTree(
  root: string,
  options: { readonly owners?: boolean; readonly skip?: (path: string) => boolean } = {},
): string[] {
  const lines: string[] = [];
  const visit = (path: string): void => {
    if (options.skip?.(path)) return;
    const full = path === "." ? root : `${root}/${path}`;
    const { mode, uid, gid, links, mtimeNs, size } = lstatAt(AT.AT_FDCWD, full);
    const kind = mode & S.S_IFMT;
    const parts: (string | number | bigint)[] = [JSON.stringify(path), mode.toString(8), mtimeNs];
    if (options.owners) parts.push(uid, gid);
    if (kind === S.S_IFLNK) parts.push(JSON.stringify(Deno.readLinkSync(full)));
    if (kind === S.S_IFREG) parts.push(size, links, digest(full));
    lines.push(parts.join(" "));
    if (kind !== S.S_IFDIR) return;
    for (const { name } of Deno.readDirSync(full)) visit(path === "." ? name : `${path}/${name}`);
  };
  visit(".");
  return lines.sort();
}

function digest(path: string): string {
  const { mode } = Deno.lstatSync(path);
  const isClosed = Deno.uid() !== 0 && (mode! & 0o400) === 0;
  return isClosed ? "closed" : createHash("sha256").update(Deno.readFileSync(path)).digest("hex");
}
