/** A sandbox as the engine builds it: every path of the host decided, nothing left to choose. */

import type { Network } from "./network_plan.ts";
import type { Limits } from "./limit.ts";

/** A directory or file of the host that is shown inside. */
export interface Lower {
  readonly path: string;
  /** Whether its owners are shifted into the holder's range (root only, mount_setattr(2)). */
  readonly isIdMapped: boolean;
  /** Whether the mounts below it come along. */
  readonly isRecursive?: boolean;
}

/** One copy-on-write tree of the sandbox. */
export interface Part {
  /** Where it lies inside: `/`, or a directory that exists in the parts before. */
  readonly target: string;
  /** What lies below, the topmost first; at least one. */
  readonly lowers: readonly Lower[];
}

/** A path of the host that appears inside as it is. */
export interface Bind {
  readonly source: string;
  readonly target: string;
  readonly isWritable: boolean;
  readonly isDirectory: boolean;
  /** The descriptor of a mount that is shown in place of `source`; it can be moved once. */
  readonly mount?: number;
}

/** Where what the sandbox writes is kept: a directory of its own on disk, or memory. */
export type Upper =
  | { readonly kind: "disk"; readonly dir: string }
  | {
    readonly kind: "tmpfs";
    readonly sizeBytes: number | null;
    /** How many files and directories it may hold. */
    readonly inodes: number | null;
  };

/** A sandbox to be built. */
export interface Layout {
  readonly parts: readonly Part[];
  readonly upper: Upper;
  readonly binds: readonly Bind[];
  readonly network: Network;
  readonly hostname: string;
  readonly limits: Limits;
}

/** Who a sandbox's programs will be: a user's single id can be shown as another. */
export interface ShownUser {
  readonly uid: number;
  readonly gid: number;
}

/** What a hull is made for: what a layout asks of all but its root. */
export interface HullWish extends Pick<Layout, "network" | "limits" | "upper"> {
  readonly user: ShownUser;
  /** The parts below the root. */
  readonly below: readonly Part[];
}

/** Gives what the hull of a layout is made for. */
export function toHullWish(layout: Layout, user: ShownUser): HullWish {
  const { network, limits, upper, parts } = layout;
  return { network, limits, upper, user, below: parts.slice(1) };
}
