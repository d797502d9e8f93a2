/** What of the host's root a peer needs to run the host's programs. */

/** Folders in the root that are links into /usr on most systems. */
const ROOT_FOLDERS = ["bin", "sbin", "lib", "lib32", "lib64"];

/** A folder of the host's root: a link, or a tree. */
export interface RootFolder {
  readonly name: string;
  /** Where it links to; null for a tree. */
  readonly link: string | null;
}

/** Lists them. */
export async function listRootFolders(): Promise<RootFolder[]> {
  const found: RootFolder[] = [{ name: "usr", link: null }];
  for (const name of ROOT_FOLDERS) {
    const info = await Deno.lstat(`/${name}`).catch(() => null);
    if (info === null) continue;
    found.push({ name, link: info.isSymlink ? await Deno.readLink(`/${name}`) : null });
  }
  return found;
}
