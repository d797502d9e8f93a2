/** Trees that are made once and kept by name, such as the directories of a base. */
import { Lock } from "./lock.ts";
import type { RemoveTree } from "./remove.ts";
import { makeWorkDir } from "./work.ts";

/**
 * Gives the tree of this name, made by `build` in an empty directory if it is not there: it is whole
 * or absent, and made by one process while others wait.
 *
 * @param store The store's directory.
 */
export async function ensureTree(
  store: string,
  name: string,
  build: (dir: string) => void,
  remove: RemoveTree,
): Promise<string> {
  const path = treePath(store, name);
  if (exists(path)) return path;
  using _lock = await Lock.take(`${store}/locks/${name}.lock`);
  if (exists(path)) return path;
  using work = makeWorkDir(`${store}/tmp`, 0o755);
  try {
    build(work.dir);
    Deno.renameSync(work.dir, path);
  } catch (error) {
    await remove(work.dir);
    throw error;
  }
  return path;
}

/** Tells where the tree of this name lies. */
export function treePath(store: string, name: string): string {
  return `${store}/skeletons/${name}`;
}

function exists(path: string): boolean {
  try {
    return Deno.lstatSync(path).isDirectory;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return false;
  }
}
