/** Descriptors that a plan names, brought near: it takes leave of those with high numbers. */
import { CLONE, closeQuietly, fetch, isStored } from "../../ffi/mod.ts";
import type { Means } from "./carry_out.ts";

/** Copies of descriptors that were stored away, until the plan has been carried out. */
export class Near implements Disposable {
  readonly #fetched: number[] = [];

  /** Gives the descriptor, or a copy that is near. */
  get(fd: number): number {
    if (!isStored(fd)) return fd;
    const copy = fetch(fd);
    this.#fetched.push(copy);
    return copy;
  }

  [Symbol.dispose](): void {
    closeQuietly(...this.#fetched.splice(0));
  }
}

/** The means of a plan that begins with `leaveFiles`. */
export function sharingFiles(means: Means): Means {
  const beyond = Math.max(...Object.values(means.fds)) + 1;
  return { ...means, flags: CLONE.CLONE_FILES, fds: { ...means.fds, beyond } };
}
