/** Joins a base, layers and wishes to the layout that the engine builds. */
import { HostError, NotFoundError, UsageError } from "../errors.ts";
import {
  countLowers,
  fileSystemOf,
  holdsAttributes,
  type Identity,
  type Layout,
  type Lower,
  MAX_LOWERS,
  type Part,
  readDocker,
  storeOptions,
} from "../sandbox/mod.ts";
import type { Layer } from "../store/mod.ts";
import type { Base } from "./base.ts";
import type { BindSpec, SandboxSpec } from "./spec.ts";

/**
 * Makes the layout. A layer below a part of its own, such as /usr, becomes one of its lowers; the
 * last layer lies on top.
 *
 * @param upperDir The directory of the upper, where it is on disk.
 */
export function joinLayout(
  spec: SandboxSpec,
  base: Base,
  layers: readonly Layer[],
  upperDir: string,
): Layout {
  const { diskBytes, inodes } = spec.limits;
  const root: Part = { target: "/", lowers: base.root };
  const parts = [root, ...base.parts].map((part) => {
    const own = layers.filter((layer) => liesIn(layer, part.target, base));
    const lowers = own.map((layer): Lower => ({
      path: part.target === "/" ? layer.tree : layer.tree + part.target,
      isIdMapped: false,
    }));
    return { target: part.target, lowers: [...lowers.reverse(), ...part.lowers] };
  });
  for (const { path } of layers) {
    const cut = base.binds.find(({ target }) => path === target || path.startsWith(`${target}/`));
    if (cut !== undefined) {
      throw new UsageError(`Cannot show a layer at "${path}": "${cut.target}" is read-only here`, {
        remedy: "Something is mounted in it on the host; give the layer another path.",
      });
    }
  }
  const count = countLowers(parts);
  if (count > MAX_LOWERS) {
    const most = MAX_LOWERS - (count - layers.length);
    throw new UsageError(
      `Cannot show ${layers.length} layers: a sandbox on this base has room for ${most}`,
      { remedy: "Join some archives to one." },
    );
  }
  return {
    parts,
    upper: spec.upper.kind === "disk"
      ? { kind: "disk", dir: upperDir }
      : { kind: "tmpfs", sizeBytes: diskBytes ?? spec.upper.sizeBytes, inodes },
    binds: [...base.binds, ...spec.binds.map(toBind)],
    network: spec.network,
    hostname: spec.hostname,
    limits: spec.limits,
  };
}

/** The same layout with what it writes in a directory. */
export function onDisk(layout: Layout, dir: string): Layout {
  return { ...layout, upper: { kind: "disk", dir } };
}

/**
 * Makes the directories that overlays write to, owned by root inside.
 *
 * @param parts How many parts the layout has.
 * @throws {HostError} If overlayfs could not use their file system.
 */
export function makeUpper(dir: string, parts: number, identity: Identity): void {
  const refused = ["overlay", "nfs", "cifs", "fuse"];
  const type = fileSystemOf(dir);
  if (refused.includes(type)) {
    const docker = readDocker();
    throw new HostError(`Cannot keep what the sandbox writes in "${dir}": it lies on ${type}`, {
      remedy: docker === null || type !== "overlay"
        ? "Give --upper-dir DIR on a local disk, or --upper tmpfs."
        : `Keep the store outside of the container's own: docker run ${storeOptions(docker)} …; ` +
          "or give --upper-dir DIR on a volume, or --upper tmpfs.",
    });
  }
  own(dir, identity);
  if (!holdsAttributes(dir)) {
    throw new HostError(
      `Cannot keep what the sandbox writes in "${dir}": its file system holds no attributes of users`,
      { remedy: "Give --upper-dir DIR on a file system that does, such as ext4 or xfs." },
    );
  }
  const umask = Deno.umask(0o022);
  try {
    for (const kind of ["upper", "work"]) {
      Deno.mkdirSync(`${dir}/${kind}`);
      for (let i = 0; i < parts; i++) {
        Deno.mkdirSync(`${dir}/${kind}/${i}`);
        own(`${dir}/${kind}/${i}`, identity);
      }
    }
  } finally {
    Deno.umask(umask);
  }
}

/** Says whether the top of an upper has the mode and the owner that `makeUpper` gives. */
export function isPlainTop(path: string, { kind, uids, gids }: Identity): boolean {
  const { mode, uid, gid } = Deno.lstatSync(path);
  const owner = kind === "root" ? [uids[0]!.outside, gids[0]!.outside] : [Deno.uid(), Deno.gid()];
  return (mode! & 0o7777) === 0o755 && uid === owner[0] && gid === owner[1];
}

/** Gives the top of an upper the mode, and for root the owner, of another's. */
export function copyTop(from: string, to: string, { kind }: Identity): void {
  const { mode, uid, gid } = Deno.lstatSync(from);
  if (kind === "root" || kind === "none") Deno.chownSync(to, uid, gid);
  Deno.chmodSync(to, mode! & 0o7777);
}

function own(path: string, { kind, uids, gids }: Identity): void {
  if (kind === "root") Deno.chownSync(path, uids[0]!.outside, gids[0]!.outside);
}

/** A layer at the root is cut up: each part gets what it has there. */
function liesIn({ path, tree }: Layer, target: string, base: Base): boolean {
  if (ownerOf(path, base) === target) return true;
  return path === "/" && isDirectory(tree + target);
}

function isDirectory(path: string): boolean {
  try {
    return Deno.lstatSync(path).isDirectory;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return false;
  }
}

/** The part that holds a path: the deepest whose target lies above it. */
function ownerOf(path: string, base: Base): string {
  const found = base.parts.map(({ target }) => target)
    .filter((target) => path === target || path.startsWith(`${target}/`));
  return found.sort((a, b) => b.length - a.length)[0] ?? "/";
}

function toBind({ source, target, writable }: BindSpec): Layout["binds"][number] {
  try {
    const real = Deno.realPathSync(source);
    const { isDirectory } = Deno.statSync(real);
    return { source: real, target, isWritable: writable, isDirectory };
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) {
      throw new NotFoundError(`Cannot bind "${source}": there is no such file or directory`);
    }
    if (error instanceof Deno.errors.PermissionDenied) {
      throw new HostError(`Cannot bind "${source}": permission denied`);
    }
    throw error;
  }
}
