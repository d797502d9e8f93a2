/** Makes the trees at the bottom of a sandbox: the root of a base host, and the site. */
import { AT, lchownAt } from "../../../ffi/mod.ts";
import { ETC_COPIES, generatedEtc, GIT_CONFIG, siteEtc } from "./etc.ts";
import type { HostTree } from "./host_tree.ts";

/** Directories of a base host's root, with their modes. */
const DIRECTORIES: readonly (readonly [path: string, mode: number])[] = [
  ["etc", 0o755],
  ["home", 0o755],
  ["home/agent", 0o777], // owned by root where ids are few, so open to the user it is for
  ["media", 0o755],
  ["mnt", 0o755],
  ["opt", 0o755],
  ["root", 0o700],
  ["srv", 0o755],
  ["var", 0o755],
  ["var/cache", 0o755],
  ["var/lib", 0o755],
  ["var/local", 0o755],
  ["var/log", 0o755],
  ["var/mail", 0o755],
  ["var/opt", 0o755],
  ["var/spool", 0o755],
  ["var/tmp", 0o1777],
];

/** Mount points of what a sandbox makes for itself: they lie above every base. */
export const MOUNT_POINTS = ["dev", "proc", "run", "sys", "tmp"];

/** Makes the root of a base host in `target`, which is there. */
export function makeHostRoot(target: string, tree: HostTree): void {
  for (const [path, mode] of DIRECTORIES) makeDirectory(`${target}/${path}`, mode);
  for (const path of [...tree.directories, ...tree.overlays]) {
    makeDirectory(`${target}${path}`, 0o755);
  }
  for (const { path, isDirectory } of tree.binds) {
    if (isDirectory) makeDirectory(`${target}${path}`, 0o755);
    else writeText(`${target}${path}`, "");
  }
  for (const { path, target: text } of tree.links) Deno.symlinkSync(text, `${target}${path}`);
  Deno.symlinkSync("/run", `${target}/var/run`);
  Deno.symlinkSync("/run/lock", `${target}/var/lock`);
  Deno.symlinkSync("/proc/self/mounts", `${target}/etc/mtab`);
  for (const name of ETC_COPIES) copyPublic(`/etc/${name}`, `${target}/etc/${name}`);
  for (const [name, text] of Object.entries(generatedEtc())) {
    writeText(`${target}/etc/${name}`, text);
  }
}

/** What the root of a base host depends on, as a short text. */
export function hostRootState(tree: HostTree): string {
  // Most are not there on a given host, and each refusal costs more than the whole list.
  const present = new Set([...Deno.readDirSync("/etc")].map(({ name }) => name));
  const states = ETC_COPIES.filter((name) => present.has(name.split("/")[0]!)).map((name) => {
    const info = lstat(`/etc/${name}`);
    return info === null ? "" : `${name} ${info.ino} ${info.mtime?.getTime()} ${info.size}`;
  });
  return [JSON.stringify(tree), ...states, JSON.stringify(generatedEtc())].join("\n");
}

/** What lies above the base in one sandbox. */
export interface Site {
  readonly hostname: string;
  readonly resolvConf: string;
  /** The base's own /etc/gitconfig, to which ours is added; null if the base has ours. */
  readonly gitconfig: string | null;
}

/** Makes a site in `target`, which is there. */
export function makeSite(target: string, site: Site): void {
  makeDirectory(`${target}/etc`, 0o755);
  for (const name of MOUNT_POINTS) makeDirectory(`${target}/${name}`, 0o755);
  const files = siteEtc(site);
  if (site.gitconfig !== null) files["gitconfig"] = site.gitconfig + GIT_CONFIG;
  for (const [name, text] of Object.entries(files)) writeText(`${target}/etc/${name}`, text);
}

/** What a site depends on, as a short text. */
export function siteState(site: Site): string {
  return JSON.stringify({ ...site, ours: GIT_CONFIG });
}

/** Gives a tree to another owner, without following links. */
export function giveTree(path: string, uid: number, gid: number): void {
  lchownAt(AT.AT_FDCWD, path, uid, gid);
  if (!Deno.lstatSync(path).isDirectory) return;
  for (const { name } of Deno.readDirSync(path)) giveTree(`${path}/${name}`, uid, gid);
}

/** Copies what everyone may read: files, links and directories; the rest is left out. */
function copyPublic(from: string, to: string): void {
  const info = lstat(from);
  if (info === null) return;
  if (info.isSymlink) {
    makeParents(to);
    Deno.symlinkSync(Deno.readLinkSync(from), to);
    return;
  }
  const mode = info.mode! & 0o777;
  if (info.isDirectory && (mode & 0o005) === 0o005) {
    makeDirectory(to, 0o755);
    for (const { name } of Deno.readDirSync(from)) copyPublic(`${from}/${name}`, `${to}/${name}`);
  } else if (info.isFile && (mode & 0o004) !== 0) {
    makeParents(to);
    Deno.copyFileSync(from, to);
    Deno.chmodSync(to, (mode & 0o111) === 0 ? 0o644 : 0o755);
  }
}

function makeDirectory(path: string, mode: number): void {
  Deno.mkdirSync(path, { recursive: true });
  Deno.chmodSync(path, mode); // whatever the umask
}

function makeParents(path: string): void {
  const parent = path.slice(0, path.lastIndexOf("/"));
  if (lstat(parent) === null) makeDirectory(parent, 0o755);
}

function writeText(path: string, text: string): void {
  Deno.writeTextFileSync(path, text);
  Deno.chmodSync(path, 0o644);
}

function lstat(path: string): Deno.FileInfo | null {
  try {
    return Deno.lstatSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.PermissionDenied) {
      return null;
    }
    throw error;
  }
}
