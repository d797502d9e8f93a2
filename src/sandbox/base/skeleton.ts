/**
 * A skeleton: the directories of a tree, without its files, owned by us. Laid over the host's tree it
 * makes every directory ours to change, so that files can be made, replaced and removed in an
 * overlay by a user to whom the host's owners do not exist.
 */
import { AT, close, isErrno, lstatAt, O, openAt, setXattr } from "../../../ffi/mod.ts";

/**
 * Makes the directories of `source` in `target`, which is there. One that is closed to us, such as
 * /root, becomes an empty one of ours that hides it.
 */
export function makeSkeleton(source: string, target: string): void {
  const umask = Deno.umask(0);
  try {
    copyDirectories(source, target);
  } finally {
    Deno.umask(umask);
  }
}

/** What changes, in a root, whenever packages are installed, upgraded or removed. */
const PACKAGE_RECORDS = [
  "var/lib/dpkg/status",
  "var/lib/rpm/rpmdb.sqlite",
  "var/lib/rpm/Packages",
  "usr/lib/sysimage/rpm/rpmdb.sqlite",
  "lib/apk/db/installed",
  "var/lib/pacman/local",
];

/**
 * A short text that changes when directories at the top of a tree, or the packages of the root that it
 * belongs to, have changed. What else comes or goes deeper down is seen inside all the same; only a
 * directory that came is not ours to change.
 */
export function skeletonState(source: string, root: string): string {
  const directories = childDirectories(source).map((name) => `${source}/${name}`);
  const records = PACKAGE_RECORDS.map((name) => `${root}/${name}`);
  const isRoot = source === root;
  const deeper = isRoot ? childDirectories(`${root}/usr`).map((name) => `${root}/usr/${name}`) : [];
  return [source, ...directories, ...deeper, ...records].map(describe).join("\n");
}

function copyDirectories(source: string, target: string): void {
  for (const name of childDirectories(source)) {
    const from = `${source}/${name}`;
    const mode = Deno.lstatSync(from).mode! & 0o7777;
    const to = `${target}/${name}`;
    Deno.mkdirSync(to, { mode: mode | 0o700 });
    if ((mode & 0o005) === 0o005) copyDirectories(from, to);
    else makeOpaque(to);
  }
}

/** Tells overlayfs to show nothing from below (its documentation, "userxattr"). */
function makeOpaque(path: string): void {
  const fd = openAt(AT.AT_FDCWD, path, O.O_DIRECTORY | O.O_CLOEXEC);
  try {
    setXattr(fd, "user.overlay.opaque", new TextEncoder().encode("y"));
  } finally {
    close(fd);
  }
}

function childDirectories(path: string): string[] {
  try {
    return [...Deno.readDirSync(path)].filter((entry) => entry.isDirectory).map((it) => it.name);
  } catch (error) {
    if (error instanceof Deno.errors.PermissionDenied || error instanceof Deno.errors.NotFound) {
      return [];
    }
    throw error;
  }
}

function describe(path: string): string {
  try {
    const { inode, ctimeNs } = lstatAt(AT.AT_FDCWD, path);
    return `${path} ${inode} ${ctimeNs}`;
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR", "EACCES")) return "";
    throw error;
  }
}
