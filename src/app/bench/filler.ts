/** Files that make an environment as large as real ones are. */

/** Files that are larger are left out: no small file of an environment is. */
const SMALL_BYTES = 1e6;

/** Copies files of a library, again and again, until there are about so many bytes. */
export async function fillTree(
  dir: string,
  library: string,
  bytes: number,
): Promise<{ readonly bytes: number; readonly entries: number }> {
  const count = { bytes: 0, entries: 0 };
  await Deno.mkdir(dir, { recursive: true });
  const files = await listFiles(library);
  for (let copy = 0; count.bytes < bytes && files.length > 0; copy++) {
    for (const { path, size } of files) {
      if (count.bytes >= bytes) break;
      const to = `${dir}/${copy}/${path.slice(library.length + 1)}`;
      await Deno.mkdir(to.slice(0, to.lastIndexOf("/")), { recursive: true });
      await Deno.copyFile(path, to);
      count.bytes += size;
      count.entries++;
    }
  }
  return count;
}

/** A file of a library. */
export interface File {
  readonly path: string;
  readonly size: number;
}

/** Lists the small files beneath a directory, the same order each time. */
export async function listFiles(dir: string): Promise<File[]> {
  const found: File[] = [];
  const entries = (await Array.fromAsync(Deno.readDir(dir)))
    .toSorted((a, b) => a.name < b.name ? -1 : 1);
  for (const { name, isFile, isDirectory } of entries) {
    const path = `${dir}/${name}`;
    if (isDirectory) found.push(...await listFiles(path));
    if (!isFile) continue;
    const { size } = await Deno.stat(path);
    if (size <= SMALL_BYTES) found.push({ path, size });
  }
  return found;
}
