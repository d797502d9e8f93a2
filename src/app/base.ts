/** Use case: the trees at the bottom of a sandbox, made once and kept in the store. */
import { createHash } from "node:crypto";
import {
  type Bind,
  cutHostTree,
  giveTree,
  type Host,
  hostRootState,
  type Identity,
  listDirectory,
  type Lower,
  makeHostRoot,
  makeSite,
  makeSkeleton,
  parseMountPoints,
  type Part,
  readFileBeneath,
  siteState,
  skeletonState,
} from "../sandbox/mod.ts";
import { HostError, NotFoundError, UsageError } from "../errors.ts";
import type { Store } from "../store/mod.ts";

import type { SandboxSpec } from "./spec.ts";
import type { ReadRootFile } from "./user.ts";

/** The bottom of a sandbox: its lowers at `/`, parts of its own, and what is only shown. */
export interface Base {
  /** The root's lowers, the topmost first. */
  readonly root: readonly Lower[];
  /** Overlays below the root. */
  readonly parts: readonly Part[];
  readonly binds: readonly Bind[];
  /** Reads the files in which users are looked up; null for a base host. */
  readonly users: ReadRootFile | null;
}

/** Called when a tree is made for the first time, which may take seconds. */
export type OnFirst = (what: string) => void;

/** Gives a tree of this kind and state in the store; `make` fills it if it is not there. */
export type Trees = (kind: string, state: string, make: (dir: string) => void) => Promise<string>;

/** What bases are made with. */
export interface Ground {
  readonly host: Host;
  readonly trees: Trees;
  /** Says whether the owners of a tree can be shifted into the sandbox's range. */
  readonly mapsIds: (path: string) => boolean;
}

/** Gives the base of a spec. */
export async function prepareBase(
  ground: Ground,
  spec: Pick<SandboxSpec, "base" | "hostname" | "network">,
  onFirst: OnFirst = () => {},
): Promise<Base> {
  return spec.base === "host"
    ? await hostBase(ground, spec, onFirst)
    : await directoryBase(ground, spec, onFirst);
}

async function hostBase(
  ground: Ground,
  spec: Pick<SandboxSpec, "hostname" | "network">,
  onFirst: OnFirst,
): Promise<Base> {
  const tree = cutHostTree(
    listDirectory,
    parseMountPoints(Deno.readTextFileSync("/proc/self/mountinfo")),
  );
  const root = await ground.trees("root", hostRootState(tree), (dir) => makeHostRoot(dir, tree));
  const parts: Part[] = [];
  for (const path of tree.overlays) {
    parts.push({ target: path, lowers: await overForeign(ground, { path, root: "" }, onFirst) });
  }
  const site = await siteTree(ground.trees, spec, null);
  return {
    root: [plain(site), plain(root)],
    parts,
    binds: tree.binds.map(({ path, isDirectory }) => ({
      source: path,
      target: path,
      isWritable: false,
      isDirectory,
    })),
    users: null,
  };
}

async function directoryBase(
  ground: Ground,
  spec: Pick<SandboxSpec, "base" | "hostname" | "network">,
  onFirst: OnFirst,
): Promise<Base> {
  const path = realDirectory(spec.base);
  const gitconfig = readFileBeneath(path, "etc/gitconfig") ?? "";
  const site = await siteTree(ground.trees, spec, gitconfig);
  return {
    root: [plain(site), ...await overForeign(ground, { path, root: path }, onFirst)],
    parts: [],
    binds: [],
    users: (file) => readFileBeneath(path, file),
  };
}

/**
 * Gives the lowers that make a tree of other owners changeable: for root its owners are shifted into
 * the sandbox's range, where its file system can do that; else its directories are laid over it as
 * our own.
 *
 * @param tree Its path, and the root that it belongs to, without a slash at its end.
 */
async function overForeign(
  { host, trees, mapsIds }: Ground,
  { path, root }: { readonly path: string; readonly root: string },
  onFirst: OnFirst,
): Promise<Lower[]> {
  if (host.identity.kind === "none") return [plain(path)];
  if (mapsIds(path)) return [{ path, isIdMapped: true }];
  if (host.uid !== 0 && Deno.statSync(path).uid === host.uid) return [plain(path)];
  const skeleton = await trees("skeleton", skeletonState(path, root), (dir) => {
    onFirst(`preparing the directories of "${path}"`);
    makeSkeleton(path, dir);
  });
  return [plain(skeleton), plain(path)];
}

/** Gives what lies above a base: the files that differ from sandbox to sandbox. */
export async function siteTree(
  trees: Trees,
  { hostname, network }: Pick<SandboxSpec, "hostname" | "network">,
  gitconfig: string | null,
): Promise<string> {
  const resolvConf = network === "host" ? readResolvConf() : "# there is no network\n";
  const site = { hostname, resolvConf, gitconfig };
  return await trees("site", siteState(site), (dir) => makeSite(dir, site));
}

/** Keeps trees in a store, owned by root inside. */
export function storedTrees(store: Store, { identity }: Host): Trees {
  return (kind, state, make) =>
    store.ensureTree(treeName(kind, state, identity), (dir) => {
      make(dir);
      if (identity.kind === "root") {
        giveTree(dir, identity.uids[0]!.outside, identity.gids[0]!.outside);
      }
    });
}

/** Only tells where trees would lie. */
export function namedTrees(store: Store, { identity }: Host): Trees {
  return (kind, state) => Promise.resolve(store.treePath(treeName(kind, state, identity)));
}

function treeName(kind: string, state: string, { uids, gids }: Identity): string {
  const digest = createHash("sha256").update(JSON.stringify([kind, state, uids, gids]));
  return `${kind}-${digest.digest("hex")}`;
}

function plain(path: string): Lower {
  return { path, isIdMapped: false };
}

function realDirectory(path: string): string {
  try {
    const real = Deno.realPathSync(path);
    if (!Deno.statSync(real).isDirectory) {
      throw new UsageError(`Cannot use "${path}" as base: it is not a directory`);
    }
    return real;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) {
      throw new NotFoundError(`Cannot use "${path}" as base: there is no such directory`);
    }
    if (error instanceof Deno.errors.PermissionDenied) {
      throw new HostError(`Cannot use "${path}" as base: permission denied`);
    }
    throw error;
  }
}

function readResolvConf(): string {
  try {
    return Deno.readTextFileSync("/etc/resolv.conf");
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "";
    throw error;
  }
}
