/** What is kept in the store by name: bases, environments and snapshots, each a JSON file. */
import { NotFoundError, UsageError } from "../errors.ts";
import type { RemoveTree } from "./remove.ts";
import { makeWorkDir } from "./work.ts";

/** What can have a name. */
export type NameKind = "base" | "environment" | "snapshot";

/** The part of a named file that the store itself reads. */
export interface Named {
  /** The keys of the layers that it needs. */
  readonly keys: readonly string[];
  /** The base that it needs, if that has a name. */
  readonly needsBase?: string | null;
}

/** All kinds. */
export const NAME_KINDS: readonly NameKind[] = ["base", "environment", "snapshot"];

const NAME = /^[A-Za-z0-9][A-Za-z0-9._:@+-]{0,127}$/;

/** Names that mean something else. */
const RESERVED = ["host"];

/** Refuses what cannot be a name. @throws {UsageError} If it cannot. */
export function checkName(kind: NameKind, name: string): void {
  const refuse = (state: string) =>
    new UsageError(`Cannot use ${JSON.stringify(name)} as name of a ${kind}: ${state}`, {
      remedy: "Give a name such as debian-13: letters, digits and . _ : @ + -.",
    });
  if (RESERVED.includes(name)) throw refuse("it is reserved");
  if (!NAME.test(name)) throw refuse("it holds other characters, is empty or too long");
}

/** The names of a store. */
export class NameShelf {
  readonly #store: string;
  readonly #remove: RemoveTree;

  /** @param store The store's directory. */
  constructor(store: string, remove: RemoveTree) {
    this.#store = store;
    this.#remove = remove;
  }

  /**
   * Reads what has a name.
   *
   * @throws {NotFoundError} If nothing has.
   */
  read<T extends Named>(kind: NameKind, name: string): T {
    checkName(kind, name);
    const found = this.#tryRead<T>(kind, name);
    if (found !== null) return found;
    throw new NotFoundError(`Cannot find ${kind} ${JSON.stringify(name)}: no such ${kind}`, {
      remedy: `See those there are by: minisandbox ${kind} list.`,
    });
  }

  /** Says whether a name is taken. */
  has(kind: NameKind, name: string): boolean {
    return this.#tryRead(kind, name) !== null;
  }

  /** Lists all of a kind, by name. */
  list<T extends Named>(kind: NameKind): (readonly [name: string, value: T])[] {
    return [...Deno.readDirSync(this.#dir(kind))].map(({ name }) => name.replace(/\.json$/, ""))
      .sort().flatMap((name) => {
        const value = this.#tryRead<T>(kind, name);
        return value === null ? [] : [[name, value] as const];
      });
  }

  /**
   * Gives a name, for good: what has one does not change.
   *
   * @throws {UsageError} If the name is taken.
   */
  async write<T extends Named>(kind: NameKind, name: string, value: T): Promise<void> {
    checkName(kind, name);
    using work = makeWorkDir(`${this.#store}/tmp`, 0o755);
    try {
      const file = `${work.dir}/name.json`;
      Deno.writeTextFileSync(file, JSON.stringify(value, null, 2) + "\n");
      using handle = Deno.openSync(file);
      handle.syncSync();
      Deno.linkSync(file, this.#path(kind, name)); // refuses a name that is there
    } catch (error) {
      if (error instanceof Deno.errors.AlreadyExists) throw taken(kind, name);
      throw error;
    } finally {
      await this.#remove(work.dir);
    }
  }

  /**
   * Takes a name away.
   *
   * @throws {NotFoundError} If nothing has it.
   * @throws {UsageError} If something needs it.
   */
  remove(kind: NameKind, name: string): void {
    this.read(kind, name);
    const users = kind === "base" ? this.#usersOfBase(name) : [];
    if (users.length > 0) {
      throw new UsageError(
        `Cannot remove ${kind} ${JSON.stringify(name)}: ${users.join(", ")} needs it`,
        { remedy: "Remove that first." },
      );
    }
    Deno.removeSync(this.#path(kind, name));
  }

  /** Tells who needs each layer, by key: `base debian`. */
  users(): Map<string, string[]> {
    const users = new Map<string, string[]>();
    for (const kind of NAME_KINDS) {
      for (const [name, { keys }] of this.list(kind)) {
        for (const key of new Set(keys)) {
          users.set(key, [...users.get(key) ?? [], `${kind} ${name}`]);
        }
      }
    }
    return users;
  }

  #usersOfBase(base: string): string[] {
    return NAME_KINDS.flatMap((kind) =>
      this.list(kind).filter(([, { needsBase }]) => needsBase === base)
        .map(([name]) => `${kind} ${name}`)
    );
  }

  #tryRead<T extends Named>(kind: NameKind, name: string): T | null {
    try {
      return JSON.parse(Deno.readTextFileSync(this.#path(kind, name)));
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
      return null;
    }
  }

  #path(kind: NameKind, name: string): string {
    return `${this.#dir(kind)}/${name}.json`;
  }

  #dir(kind: NameKind): string {
    return `${this.#store}/${kind}s`;
  }
}

/** Makes the error of a name that is taken. */
export function taken(kind: NameKind, name: string): UsageError {
  return new UsageError(`Cannot make ${kind} ${JSON.stringify(name)}: there is one already`, {
    remedy: `Give another name, or first: minisandbox ${kind} remove ${name}.`,
  });
}
