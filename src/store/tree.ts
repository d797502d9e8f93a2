/** Trees that are made once and kept by name, such as the directories of a base. */
import { closeQuietly } from "../../ffi/mod.ts";
import { hold } from "./hold.ts";
import { Lock } from "./lock.ts";
import type { RemoveTree } from "./remove.ts";
import { makeWorkDir } from "./work.ts";

/** The trees of a store; those that were given stay until this is disposed of. */
export class TreeShelf implements Disposable {
  readonly #store: string;
  readonly #remove: RemoveTree;
  readonly #held = new Map<string, number>();

  /** @param store The store's directory. */
  constructor(store: string, remove: RemoveTree) {
    this.#store = store;
    this.#remove = remove;
  }

  /**
   * Gives the tree of this name, made by `build` in an empty directory if it is not there: it is
   * whole or absent, and made by one process while others wait.
   */
  async ensure(name: string, build: (dir: string) => void): Promise<string> {
    while (!this.#hold(name)) {
      using _lock = await Lock.take(`${this.#store}/locks/${name}.lock`);
      if (!this.#hold(name)) await this.#make(name, build);
    }
    return this.path(name);
  }

  /** Tells where the tree of this name lies, or would lie. */
  path(name: string): string {
    return `${this.#dir(name)}/tree`;
  }

  [Symbol.dispose](): void {
    closeQuietly(...this.#held.values());
    this.#held.clear();
  }

  #hold(name: string): boolean {
    if (this.#held.has(name)) return true;
    const fd = hold(this.#dir(name));
    if (fd !== null) this.#held.set(name, fd);
    return fd !== null;
  }

  async #make(name: string, build: (dir: string) => void): Promise<void> {
    using work = makeWorkDir(`${this.#store}/tmp`, 0o755);
    try {
      Deno.mkdirSync(`${work.dir}/tree`);
      Deno.chmodSync(`${work.dir}/tree`, 0o755); // whatever the umask
      build(`${work.dir}/tree`);
      Deno.writeTextFileSync(`${work.dir}/lock`, "");
      await this.#remove(this.#dir(name)); // one without its lock is of no use
      Deno.renameSync(work.dir, this.#dir(name));
    } catch (error) {
      await this.#remove(work.dir);
      throw error;
    }
  }

  #dir(name: string): string {
    return `${this.#store}/skeletons/${name}`;
  }
}
