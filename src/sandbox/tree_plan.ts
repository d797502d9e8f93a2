/** The trees that a sandbox is built from: opened outside by who may, moved in, and joined to overlays. */
import {
  AT,
  CLONE,
  MOUNT_ATTR,
  MOUNT_ATTR_STRUCT,
  MOVE_MOUNT,
  MS,
  O,
  OPEN_TREE,
} from "../../ffi/mod.ts";
import type { Lower, Part, Upper } from "./layout.ts";
import { becomeRoot, CWD, enterHolder, enterUserNamespace } from "./process_step.ts";
import type { Standing } from "./identity.ts";
import { type Argument, fd, flags, mode, output, type Plan, type Step, step } from "./step.ts";

/** What the opening of trees depends on. */
export interface TreeFacts {
  /** Whether trees are opened, and their ids mapped, before the holder's namespaces are entered. */
  readonly opensOutside: boolean;
  readonly standing: Standing;
  /** Descriptors from here on are free for the plan's own use. */
  readonly spareFd: number;
}

/** A tree of the host that the sandbox sees: opened outside, then moved to its place. */
export interface Tree {
  readonly lower: Lower;
  readonly handle: Argument;
  readonly opens: Step[];
}

/** What is opened, and what is mounted of it then. */
export interface Material {
  readonly opens: Plan;
  readonly mounts: Plan;
}

/** Opens a tree of the host. */
export function openTree(lower: Lower, name: string, spareFd: number): Tree {
  const { path, isIdMapped, isRecursive = false } = lower;
  const open = step(`open "${path}"`, "open_tree", [
    CWD,
    path,
    flags(
      { ...OPEN_TREE, ...AT, OPEN_TREE_CLOEXEC: O.O_CLOEXEC },
      OPEN_TREE.OPEN_TREE_CLONE,
      O.O_CLOEXEC,
      ...(isRecursive ? [AT.AT_RECURSIVE] : []),
    ),
  ], { output: name });
  if (!isIdMapped) return { lower, handle: output(name), opens: [open] };
  return {
    lower,
    handle: spareFd,
    opens: [
      open,
      step("number it", "dup3", [output(name), spareFd, flags(O, O.O_CLOEXEC)]),
      step(`map the ids of "${path}"`, "mount_setattr", [
        spareFd,
        "",
        flags(AT, AT.AT_EMPTY_PATH),
        {
          size: MOUNT_ATTR_STRUCT.size,
          fields: [
            { offset: MOUNT_ATTR_STRUCT.attr_set, value: MOUNT_ATTR.MOUNT_ATTR_IDMAP },
            { offset: MOUNT_ATTR_STRUCT.userns_fd, value: fd("holder-user") },
          ],
          shown: "{attr_set=MOUNT_ATTR_IDMAP, userns_fd=<holder-user>}",
        },
        MOUNT_ATTR_STRUCT.size,
      ]),
    ],
  };
}

/** Opens everything and becomes the holder's root, in the order that gives the permissions. */
export function openTrees(opens: Plan, { opensOutside, standing }: TreeFacts): Plan {
  if (opensOutside) return [...opens, ...enterHolder(standing)];
  return [
    ...enterUserNamespace(standing),
    step("enter the copy of the host's mounts", "setns", [
      fd("host-mounts"),
      flags(CLONE, CLONE.CLONE_NEWNS),
    ]),
    ...opens, // with the permissions of who runs us
    ...becomeRoot(standing),
  ];
}

/**
 * The overlays of parts. Each lies over the place of its first lower, `/l/FIRST` for the first one, until
 * it is moved to its own: an overlay needs the places of its lowers no more.
 *
 * @param first How many lowers are elsewhere.
 * @param number The number of the first part: it writes to `/u/upper/NUMBER`.
 */
export function joinParts(
  parts: readonly Part[],
  { first, number, spareFd }: {
    readonly first: number;
    readonly number: number;
    readonly spareFd: number;
  },
): Material {
  const opens: Step[] = [];
  const mounts: Step[] = [];
  let at = first;
  parts.forEach((part, i) => {
    const places = part.lowers.map((lower) => {
      const tree = openTree(lower, `layer-${at}`, spareFd + at);
      const place = placeOf(at++);
      opens.push(...tree.opens);
      mounts.push(moveTree(tree, place));
      return place;
    });
    mounts.push(mountOverlay(part, places, number + i));
  });
  return { opens, mounts };
}

/** Where a lower waits, by its number; and the overlay whose first it is. */
export function placeOf(lower: number): string {
  return `/l/${lower}`;
}

/** How many lowers parts have. */
export function countLowers(parts: readonly Part[]): number {
  return parts.reduce((sum, { lowers }) => sum + lowers.length, 0);
}

function mountOverlay({ target }: Part, places: readonly string[], number: number): Step {
  const dirs = `upperdir=/u/upper/${number},workdir=/u/work/${number}`;
  return step(`mount overlay on "${target}"`, "mount", [
    "overlay",
    places[0]!,
    "overlay",
    flags(MS, MS.MS_NODEV), // what a root brings: without a user namespace it would be the host's
    `lowerdir=${places.join(":")},${dirs},userxattr,volatile`,
  ]);
}

/** What a sandbox writes: directories `upper/N` and `work/N` for part N, on disk or in memory. */
export function mountUpper(upper: Upper, parts: number): Material {
  if (upper.kind === "disk") {
    const tree = openTree({ path: upper.dir, isIdMapped: false }, "upper", 0);
    return { opens: tree.opens, mounts: [moveTree(tree, "/u")] };
  }
  const { sizeBytes, inodes } = upper;
  const size = sized(sizeBytes) + (inodes === null ? "" : `,nr_inodes=${inodes}`);
  return {
    opens: [],
    mounts: [
      mountTmpfs("a place for what it writes", "/u", `mode=755${size}`),
      ...["/u/upper", "/u/work"].flatMap((dir) => [
        makeDirectory(dir),
        ...Array.from({ length: parts }, (_, i) => makeDirectory(`${dir}/${i}`)),
      ]),
    ],
  };
}

function moveTree({ lower, handle }: Tree, target: string): Step {
  return step(`place "${lower.path}"`, "move_mount", [
    handle,
    "",
    CWD,
    target,
    flags(MOVE_MOUNT, MOVE_MOUNT.MOVE_MOUNT_F_EMPTY_PATH),
  ]);
}

/** Mounts a file system in memory. */
export function mountTmpfs(what: string, target: string, options: string): Step {
  return step(`mount ${what}`, "mount", [
    "tmpfs",
    target,
    "tmpfs",
    flags(MS, MS.MS_NOSUID, MS.MS_NODEV),
    options,
  ]);
}

/** The option of a size, if there is one. */
export function sized(bytes: number | null): string {
  return bytes === null ? "" : `,size=${bytes}`;
}

/** Makes a directory. */
export function makeDirectory(path: string, parent: Argument = CWD): Step {
  return step(`make ${path}`, "mkdirat", [parent, path, mode(0o755)]);
}
