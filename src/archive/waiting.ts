/** Directories that are described once all is inside: kept small, since there may be very many. */
import type { Description } from "./describe.ts";
import type { Xattr } from "./entry.ts";

/** Mode, owner, group, seconds, nanoseconds. */
const FIELDS = 5;

/** The descriptions of directories by path; the last of a path counts. */
export class WaitingDirectories {
  readonly #indices = new Map<string, number>();
  #fields = new Float64Array(FIELDS * 256);
  readonly #xattrs = new Map<string, readonly Xattr[]>();

  /** Keeps what is said of a directory. */
  set(path: string, { mode, uid, gid, mtime, xattrs }: Description): void {
    let index = this.#indices.get(path);
    if (index === undefined) {
      index = this.#indices.size;
      this.#indices.set(path, index);
    }
    if (FIELDS * (index + 1) > this.#fields.length) {
      const fields = new Float64Array(2 * this.#fields.length);
      fields.set(this.#fields);
      this.#fields = fields;
    }
    this.#fields.set([mode, uid, gid, mtime.seconds, mtime.nanoseconds], FIELDS * index);
    if (xattrs.length > 0) this.#xattrs.set(path, xattrs);
    else this.#xattrs.delete(path);
  }

  /** Gives all, the deepest first: one that is described may forbid what is inside. */
  *deepestFirst(): Generator<readonly [path: string, Description]> {
    const byDepth: string[][] = [];
    for (const path of this.#indices.keys()) {
      const depth = path === "" ? 0 : path.split("/").length;
      (byDepth[depth] ??= []).push(path);
    }
    for (const paths of byDepth.toReversed()) {
      for (const path of paths ?? []) yield [path, this.#get(path)];
    }
  }

  #get(path: string): Description {
    const at = FIELDS * this.#indices.get(path)!;
    const [mode = 0, uid = 0, gid = 0, seconds = 0, nanoseconds = 0] = this.#fields.subarray(
      at,
      at + FIELDS,
    );
    const xattrs = this.#xattrs.get(path) ?? [];
    return { kind: "directory", mode, uid, gid, mtime: { seconds, nanoseconds }, xattrs };
  }
}
