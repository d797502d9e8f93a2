/** The layers of a store as a person sees them: listed, found by a part of the key, removed. */
import { NotFoundError, UsageError } from "../errors.ts";
import { moveUnused } from "./hold.ts";
import { type LayerInfo, listLayers, readLayer } from "./layer.ts";
import type { NameShelf } from "./name.ts";
import type { RemoveTree } from "./remove.ts";
import { makeWorkDir } from "./work.ts";

/** A layer, and who needs it. */
export interface CatalogEntry extends LayerInfo {
  /** What needs it, such as `base debian`. */
  readonly usedBy: readonly string[];
}

/** The layers of a store. */
export class Catalog {
  readonly #store: string;
  readonly #names: NameShelf;
  readonly #remove: RemoveTree;

  /** @param store The store's directory. */
  constructor(store: string, names: NameShelf, remove: RemoveTree) {
    this.#store = store;
    this.#names = names;
    this.#remove = remove;
  }

  /** Describes each layer. */
  list(): CatalogEntry[] {
    const users = this.#names.users();
    return listLayers(`${this.#store}/layers`).map((layer) => ({
      ...layer,
      usedBy: users.get(layer.key) ?? [],
    }));
  }

  /**
   * Describes one layer.
   *
   * @param prefix Its key, or as much of its start as is needed.
   * @throws {NotFoundError} If there is none.
   * @throws {UsageError} If several have that start.
   */
  find(prefix: string): CatalogEntry {
    const keys = [...Deno.readDirSync(`${this.#store}/layers`)].map(({ name }) => name);
    const found = keys.filter((key) => key.startsWith(prefix));
    if (found.length > 1 && prefix !== "") {
      throw new UsageError(
        `Cannot find layer ${JSON.stringify(prefix)}: ${found.length} keys start so`,
        { remedy: "Give more of the key." },
      );
    }
    const [key] = found;
    const layer = key === undefined || prefix === "" ? null : readLayer(this.#dir, key);
    if (layer === null) {
      throw new NotFoundError(`Cannot find layer ${JSON.stringify(prefix)}: no such layer`, {
        remedy: "See the keys by: minisandbox layer list.",
      });
    }
    return { ...layer, usedBy: this.#names.users().get(layer.key) ?? [] };
  }

  /**
   * Removes a layer.
   *
   * @param prefix As for `find`.
   * @returns Its whole key.
   * @throws {NotFoundError | UsageError} As `find`; also if something uses or needs it.
   */
  async remove(prefix: string): Promise<string> {
    const { key, usedBy } = this.find(prefix);
    if (usedBy.length > 0) {
      throw new UsageError(`Cannot remove layer ${key}: ${usedBy.join(", ")} needs it`, {
        remedy: "Remove that first.",
      });
    }
    if (!await this.removeUnused(key)) {
      throw new UsageError(`Cannot remove layer ${key}: it is in use`, {
        remedy: "End the sandboxes that use it, then try again.",
      });
    }
    return key;
  }

  /** Removes a layer unless something uses or needs it, and says whether it did. */
  async removeUnused(key: string): Promise<boolean> {
    const isWanted = () => this.#names.users().has(key);
    using work = makeWorkDir(`${this.#store}/tmp`, 0o755);
    try {
      return moveUnused(`${this.#dir}/${key}`, `${work.dir}/layer`, isWanted);
    } finally {
      await this.#remove(work.dir);
    }
  }

  get #dir(): string {
    return `${this.#store}/layers`;
  }
}
