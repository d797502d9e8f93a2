/** Files with several names: packed under the first, and linked to it under the others. */
import type { FileStatus } from "../../ffi/mod.ts";

/** The names under which files were packed, for as long as more names of them may come. */
export class HardLinks {
  readonly #known = new Map<string, { readonly path: string; left: number }>();

  /** Gives the name under which a file was packed before, or null and keeps this one. */
  firstName({ device, inode, links }: FileStatus, path: string): string | null {
    const key = `${device} ${inode}`;
    const known = this.#known.get(key);
    if (known === undefined) {
      this.#known.set(key, { path, left: links - 1 });
      return null;
    }
    if (--known.left === 0) this.#known.delete(key);
    return known.path;
  }

  /** Forgets a file that was not packed after all. */
  forget({ device, inode }: FileStatus): void {
    this.#known.delete(`${device} ${inode}`);
  }
}
