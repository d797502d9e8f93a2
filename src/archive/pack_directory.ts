/** Packs trees that are given by their paths. */
import { AT, close, O, openAt } from "../../ffi/mod.ts";
import { type PackOptions, packTree } from "./pack.ts";

/** A tree that is packed. */
export interface PackedTree {
  /** The path of its root. */
  readonly dir: string;
  /** Where it stands in the archive: a path without a slash at either end, "" for the root. */
  readonly at: string;
}

/**
 * As `packTree`, of directories given by their paths.
 *
 * @throws {ArchiveError | HostError} As `packTree`.
 * @throws {SyscallError} If a directory cannot be opened.
 */
export async function* packDirectories(
  trees: readonly PackedTree[],
  options: PackOptions,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const parts: { readonly dir: number; readonly at: string }[] = [];
  try {
    for (const { dir, at } of trees) {
      parts.push({ dir: openAt(AT.AT_FDCWD, dir, O.O_DIRECTORY | O.O_CLOEXEC), at });
    }
    yield* packTree(parts, options);
  } finally {
    for (const { dir } of parts) close(dir);
  }
}
