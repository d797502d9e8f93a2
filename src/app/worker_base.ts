/** What lies at the bottom of a worker: the libraries that this program runs with, and no more. */
import {
  type Bind,
  listDirectory,
  type Listing,
  type Lower,
  MOUNT_POINTS,
} from "../sandbox/mod.ts";
import type { Trees } from "./base.ts";

/** Where the loader looks for libraries; which of them are directories differs from host to host. */
const LIBRARIES = /^lib(32|64|x32)?$/;

/** Where it looks first. */
const LOADER_CACHE = "/etc/ld.so.cache";

/** The root of a worker, and what it sees of the host. */
export interface WorkerBase {
  readonly root: readonly Lower[];
  readonly binds: readonly Bind[];
}

/** Gives the bottom of a worker. */
export async function prepareWorkerBase(trees: Trees): Promise<WorkerBase> {
  const found = [...listLibraries(""), ...listLibraries("/usr")];
  const links = found.filter(({ kind }) => kind === "link");
  const shown = found.filter(({ kind }) => kind === "directory").map(({ path }) => path);
  const root = await trees("worker", JSON.stringify(links), (dir) => {
    for (const name of [...MOUNT_POINTS, "usr"]) Deno.mkdirSync(`${dir}/${name}`);
    for (const { path, target } of links) Deno.symlinkSync(target!, dir + path);
  });
  const cache = exists(LOADER_CACHE)
    ? [bind(LOADER_CACHE, LOADER_CACHE, { isDirectory: false })]
    : [];
  return {
    root: [{ path: root, isIdMapped: false }],
    binds: [...shown.map((path) => bind(path, path)), ...cache],
  };
}

/** Shows a path of the host to a worker: a directory that it cannot write, if nothing else is said. */
export function bind(
  source: string,
  target: string,
  { isDirectory = true, isWritable = false }: Partial<Pick<Bind, "isDirectory" | "isWritable">> =
    {},
): Bind {
  return { source, target, isDirectory, isWritable };
}

function listLibraries(parent: string): (Listing & { readonly path: string })[] {
  return listDirectory(parent === "" ? "/" : parent)
    .filter(({ name }) => LIBRARIES.test(name))
    .map((entry) => ({ ...entry, path: `${parent}/${entry.name}` }));
}

function exists(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return false;
  }
}
