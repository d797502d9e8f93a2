/** The host's system directories, cut into what can be copied on write and what is only shown. */
import { holdsMount } from "./mount_point.ts";

/** The names in `/` that a base host shows. */
const SYSTEM = ["usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"];

/** A directory as far as the cutting needs it. */
export interface Listing {
  readonly name: string;
  readonly kind: "directory" | "link" | "file";
  /** A link's text. */
  readonly target: string | null;
}

/** What a base host is made of, all as absolute paths. */
export interface HostTree {
  /** Trees to be overlaid. */
  readonly overlays: readonly string[];
  /** Trees and files to be shown read-only, since something is mounted below them. */
  readonly binds: readonly { readonly path: string; readonly isDirectory: boolean }[];
  /** Directories that hold those of a cut one. */
  readonly directories: readonly string[];
  /** Links to be made again. */
  readonly links: readonly { readonly path: string; readonly target: string }[];
}

/**
 * Cuts the system directories: a directory free of mounts is one overlay; of another, each entry is
 * treated by itself. An overlay over a tree with mounts in it would show what they cover, so the
 * kernel refuses it to ordinary users.
 *
 * @param list Gives the entries of a directory; none where it is not there.
 * @param mountPoints All mount points of the host.
 */
export function cutHostTree(
  list: (path: string) => readonly Listing[],
  mountPoints: readonly string[],
): HostTree {
  const tree = {
    overlays: [] as string[],
    binds: [] as { path: string; isDirectory: boolean }[],
    directories: [] as string[],
    links: [] as { path: string; target: string }[],
  };
  for (const entry of list("/").filter(({ name }) => SYSTEM.includes(name))) {
    const path = `/${entry.name}`;
    if (entry.kind === "link") tree.links.push({ path, target: entry.target! });
    if (entry.kind !== "directory") continue;
    if (!holdsMount(mountPoints, path)) tree.overlays.push(path);
    else cut(path);
  }
  return tree;

  function cut(directory: string): void {
    tree.directories.push(directory);
    for (const { name, kind, target } of list(directory)) {
      const path = `${directory}/${name}`;
      if (kind === "link") tree.links.push({ path, target: target! });
      else if (kind === "directory" && !holdsMount(mountPoints, path)) tree.overlays.push(path);
      else tree.binds.push({ path, isDirectory: kind === "directory" });
    }
  }
}

/** Lists a directory of this host. */
export function listDirectory(path: string): Listing[] {
  return [...Deno.readDirSync(path)].map(({ name, isDirectory, isSymlink }) => ({
    name,
    kind: isDirectory ? "directory" as const : isSymlink ? "link" as const : "file" as const,
    target: isSymlink ? Deno.readLinkSync(`${path === "/" ? "" : path}/${name}`) : null,
  })).sort((a, b) => a.name < b.name ? -1 : 1);
}
