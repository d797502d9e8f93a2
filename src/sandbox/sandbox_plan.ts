/** Plans a sandbox: from the holder's namespaces to its init, as data. */
import {
  AT,
  CLONE,
  MOUNT_ATTR,
  MOUNT_ATTR_STRUCT,
  MOVE_MOUNT,
  MS,
  O,
  OPEN_HOW,
  OPEN_TREE,
  RESOLVE,
  S,
} from "../../ffi/mod.ts";
import {
  becomeInit,
  EMPTY,
  makeNamespaces,
  mountSystem,
  mountTmpfs,
  type PlanFacts,
  sized,
  SYSTEM_PLACES,
} from "./hull_plan.ts";
import type { Bind, Layout, Lower, Part } from "./layout.ts";
import {
  becomeRoot,
  CWD,
  enterHolder,
  enterUserNamespace,
  joinCgroups,
  leaveFiles,
  leaveOwner,
} from "./process_step.ts";
import {
  type Argument,
  fd,
  flags,
  mode,
  output,
  type Plan,
  type Step,
  step,
  type Struct,
} from "./step.ts";

/** A tree of the host that the sandbox sees: opened outside, then moved to its place. */
interface Tree {
  readonly lower: Lower;
  readonly handle: Argument;
  readonly opens: Step[];
}

/** What a sandbox is built from, opened by who may. */
interface Material {
  readonly opens: Plan;
  readonly trees: readonly Tree[];
  readonly binds: readonly Tree[];
  readonly upper: Tree | undefined;
}

/**
 * Plans the sandbox in one go; its init is the process `pid`.
 *
 * Mounts and init belong to the holder's user namespace, above the one that programs enter: no
 * capability inside reaches them, so neither can be changed, traced or kept alive from inside.
 */
export function planSandbox(layout: Layout, facts: PlanFacts): Plan {
  const material = gather(layout, facts);
  return [
    ...leaveFiles(),
    ...leaveOwner(),
    ...joinCgroups(facts.joinFiles),
    ...open(material, facts),
    ...makeNamespaces(),
    ...mountSystem(facts, layout.limits),
    step(`reach "${EMPTY}"`, "openat", [CWD, EMPTY, flags(O, O.O_PATH, O.O_CLOEXEC), 0], {
      output: "empty",
    }),
    ...furnish(layout, material, facts),
    step("leave it all to programs", "fchdir", [output("empty")]),
    step("enter an empty root", "chroot", ["."]),
    ...becomeInit(layout.network, facts),
  ];
}

/** Plans the same in a hull, which is known by its init. */
export function planFurnishing(layout: Layout, facts: PlanFacts): Plan {
  const material = gather(layout, facts);
  return [
    ...leaveFiles(),
    ...open(material, facts),
    step("enter the hull", "setns", [
      fd("hull"),
      flags(CLONE, CLONE.CLONE_NEWNS, CLONE.CLONE_NEWUTS),
    ]),
    ...furnish(layout, material, facts),
  ];
}

function gather(layout: Layout, { spareFd }: PlanFacts): Material {
  const lowers = layout.parts.flatMap((part) => part.lowers);
  const trees = lowers.map((lower, i) => openTree(lower, `layer-${i}`, spareFd + i));
  const binds = layout.binds.map((bind, i) => openBind(bind, `bind-${i}`));
  const upper = layout.upper.kind === "disk"
    ? openTree({ path: layout.upper.dir, isIdMapped: false }, "upper", 0)
    : undefined;
  const all = [...trees, ...binds, ...(upper === undefined ? [] : [upper])];
  return { opens: all.flatMap((tree) => tree.opens), trees, binds, upper };
}

/** Opens everything and becomes the holder's root, in the order that gives the permissions. */
function open({ opens }: Material, { opensOutside, standing }: PlanFacts): Plan {
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

/** Makes the root of the sandbox, and puts it over the template's. */
function furnish(
  layout: Layout,
  { trees, binds, upper }: Material,
  { spareFd }: PlanFacts,
): Plan {
  return [
    ...trees.map((tree, i) => moveTree(tree, `/l/${i}`)),
    ...mountUpper(layout, upper),
    ...mountParts(layout.parts),
    ...placeSystem(),
    step("move the new root over the old", "mount", [".", "/", null, flags(MS, MS.MS_MOVE), null]),
    step("change to the new root", "chroot", ["."]),
    step("enter the new root", "chdir", ["/"]),
    ...layout.binds.flatMap((bind, i) =>
      mountBind(bind, binds[i]!, { name: `bind-${i}`, number: spareFd })
    ),
    step("set the hostname", "sethostname", [layout.hostname, layout.hostname.length]),
  ];
}

/** Plans the mapping of a tree's ids by itself, to see whether its file system can do that. */
export function planIdMapping(path: string, { spareFd }: PlanFacts): Plan {
  return openTree({ path, isIdMapped: true }, "tree", spareFd).opens;
}

function openBind({ source, mount }: Bind, name: string): Tree {
  const lower = { path: source, isIdMapped: false, isRecursive: true };
  return mount === undefined ? openTree(lower, name, 0) : { lower, handle: fd(name), opens: [] };
}

/** The descriptors of mounts that a layout brings, by the names that its plan has for them. */
export function mountsOf({ binds }: Layout): Readonly<Record<string, number>> {
  return Object.fromEntries(
    binds.flatMap(({ mount }, i) => mount === undefined ? [] : [[`bind-${i}`, mount]]),
  );
}

function openTree(lower: Lower, name: string, spareFd: number): Tree {
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

function moveTree({ lower, handle }: Tree, target: string): Step {
  return step(`place "${lower.path}"`, "move_mount", [
    handle,
    "",
    CWD,
    target,
    flags(MOVE_MOUNT, MOVE_MOUNT.MOVE_MOUNT_F_EMPTY_PATH),
  ]);
}

/** What the sandbox writes: directories `upper/N` and `work/N` for part N, on disk or in memory. */
function mountUpper({ upper, parts }: Layout, tree: Tree | undefined): Step[] {
  if (tree !== undefined) return [moveTree(tree, "/u")];
  const { sizeBytes, inodes } = upper.kind === "tmpfs" ? upper : { sizeBytes: null, inodes: null };
  const size = sized(sizeBytes) + (inodes === null ? "" : `,nr_inodes=${inodes}`);
  return [
    mountTmpfs("a place for what it writes", "/u", `mode=755${size}`),
    ...["/u/upper", "/u/work"].flatMap((dir) => [
      makeDirectory(dir),
      ...parts.map((_, i) => makeDirectory(`${dir}/${i}`)),
    ]),
  ];
}

function mountParts(parts: readonly Part[]): Step[] {
  let index = 0;
  const overlays = parts.map((part, i) => {
    const names = part.lowers.map(() => `/l/${index++}`).join(":");
    return step(`mount overlay on "${part.target}"`, "mount", [
      "overlay",
      part.target === "/" ? "/m" : `/m${part.target}`,
      "overlay",
      flags(MS, MS.MS_NODEV), // what a root brings: without a user namespace it would be the host's
      `lowerdir=${names},upperdir=/u/upper/${i},workdir=/u/work/${i},userxattr,volatile`,
    ]);
  });
  return [...overlays, step("enter it", "chdir", ["/m"])];
}

/** Moves what waits in the template's root into its own. */
function placeSystem(): Step[] {
  return Object.entries(SYSTEM_PLACES).flatMap(([name, source]) => [
    findPlace(name),
    step(`move /${name} into place`, "mount", [source, name, null, flags(MS, MS.MS_MOVE), null]),
  ]);
}

/** A snapshot may hold a link there, which would lead a mount away from what it has to cover. */
function findPlace(name: string): Step {
  const how = openHow("{O_PATH|O_DIRECTORY|O_CLOEXEC, resolve=RESOLVE_NO_SYMLINKS}", {
    flags: O.O_PATH + O.O_DIRECTORY + O.O_CLOEXEC,
    resolve: RESOLVE.RESOLVE_NO_SYMLINKS,
  });
  return step(`find /${name}, which must be no link`, "openat2", [CWD, name, how, OPEN_HOW.size]);
}

/**
 * Within the new root, so that no link in it leads out, and beneath descriptors: a sandbox beside this
 * one may change the names of a place that both may write to, at any moment.
 */
function mountBind(
  bind: Bind,
  tree: Tree,
  { name, number }: { readonly name: string; readonly number: number },
): Step[] {
  const { source, target, isWritable, isDirectory } = bind;
  const names = target.split("/").filter((name) => name !== "");
  const attributes = MOUNT_ATTR.MOUNT_ATTR_NOSUID + MOUNT_ATTR.MOUNT_ATTR_NODEV +
    (isWritable ? 0 : MOUNT_ATTR.MOUNT_ATTR_RDONLY);
  return [
    step("number it", "dup3", [tree.handle, number, flags(O, O.O_CLOEXEC)]),
    step(`protect "${source}"`, "mount_setattr", [
      number,
      "",
      flags(AT, AT.AT_RECURSIVE, AT.AT_EMPTY_PATH),
      {
        size: MOUNT_ATTR_STRUCT.size,
        fields: [{ offset: MOUNT_ATTR_STRUCT.attr_set, value: attributes }],
        shown: `{attr_set=${isWritable ? "" : "RDONLY|"}NOSUID|NODEV}`,
      },
      MOUNT_ATTR_STRUCT.size,
    ]),
    ...names.flatMap((own, i) => {
      const above = `${name}-above-${i}`;
      const isFile = !isDirectory && i === names.length - 1;
      return [
        reach(`/${names.slice(0, i).join("/")}`, above),
        isFile
          ? step(`make ${target}`, "mknodat", [output(above), own, mode(S.S_IFREG | 0o644), 0], {
            optional: true,
          })
          : { ...makeDirectory(own, output(above)), optional: true },
      ];
    }),
    reach(target, `${name}-place`, O.O_NOFOLLOW),
    step(`bind "${source}" to "${target}"`, "move_mount", [
      number,
      "",
      output(`${name}-place`),
      "",
      flags(
        MOVE_MOUNT,
        MOVE_MOUNT.MOVE_MOUNT_F_EMPTY_PATH,
        MOVE_MOUNT.MOVE_MOUNT_T_EMPTY_PATH,
      ),
    ]),
  ];
}

/** A link of a layer may lead elsewhere inside, but not by /proc/self/fd to what we have open. */
function reach(path: string, name: string, more = 0): Step {
  const nofollow = more === 0 ? "" : "O_NOFOLLOW|";
  const how = openHow(`{O_PATH|${nofollow}O_CLOEXEC, resolve=RESOLVE_NO_MAGICLINKS}`, {
    flags: O.O_PATH + O.O_CLOEXEC + more,
    resolve: RESOLVE.RESOLVE_NO_MAGICLINKS,
  });
  return step(`reach "${path}"`, "openat2", [CWD, path, how, OPEN_HOW.size], { output: name });
}

function openHow(
  shown: string,
  { flags, resolve }: { readonly flags: number; readonly resolve: number },
): Struct {
  const fields = [
    { offset: OPEN_HOW.flags, value: flags },
    { offset: OPEN_HOW.resolve, value: resolve },
  ];
  return { size: OPEN_HOW.size, fields, shown };
}

function makeDirectory(path: string, parent: Argument = CWD): Step {
  return step(`make ${path}`, "mkdirat", [parent, path, mode(0o755)]);
}
