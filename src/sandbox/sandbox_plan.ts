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
  RESOLVE,
  S,
} from "../../ffi/mod.ts";
import {
  becomeInit,
  EMPTY,
  gatherHull,
  makeNamespaces,
  type PlanFacts,
  SYSTEM_PLACES,
} from "./hull_plan.ts";
import type { Bind, Layout } from "./layout.ts";
import { CWD, joinCgroups, leaveFiles, leaveOwner } from "./process_step.ts";
import { fd, flags, mode, output, type Plan, type Step, step, type Struct } from "./step.ts";
import {
  countLowers,
  joinParts,
  makeDirectory,
  type Material,
  openTree,
  openTrees,
  placeOf,
  type Tree,
} from "./tree_plan.ts";

/** The root of a sandbox, and what is bound into it. */
interface Root extends Material {
  readonly binds: readonly Tree[];
}

/**
 * Plans the sandbox in one go; its init is the process `pid`.
 *
 * Mounts and init belong to the holder's user namespace, above the one that programs enter: no
 * capability inside reaches them, so neither can be changed, traced or kept alive from inside.
 */
export function planSandbox(layout: Layout, facts: PlanFacts): Plan {
  const hull = gatherHull({ ...layout, below: layout.parts.slice(1) }, facts);
  const root = gatherRoot(layout, facts);
  return [
    ...leaveFiles(),
    ...leaveOwner(),
    ...joinCgroups(facts.joinFiles),
    ...openTrees([...hull.opens, ...root.opens], facts),
    ...makeNamespaces(),
    ...hull.mounts,
    step(`reach "${EMPTY}"`, "openat", [CWD, EMPTY, flags(O, O.O_PATH, O.O_CLOEXEC), 0], {
      output: "empty",
    }),
    ...furnish(layout, root, facts),
    step("leave it all to programs", "fchdir", [output("empty")]),
    step("enter an empty root", "chroot", ["."]),
    ...becomeInit(layout.network, facts),
  ];
}

/** Plans the rest of a sandbox whose hull is there; that is known by its init. */
export function planFurnishing(layout: Layout, facts: PlanFacts): Plan {
  const root = gatherRoot(layout, facts);
  return [
    ...leaveFiles(),
    ...openTrees(root.opens, facts),
    step("enter the hull", "setns", [
      fd("hull"),
      flags(CLONE, CLONE.CLONE_NEWNS, CLONE.CLONE_NEWUTS),
    ]),
    ...furnish(layout, root, facts),
  ];
}

function gatherRoot({ parts, binds }: Layout, { spareFd }: PlanFacts): Root {
  const first = countLowers(parts.slice(1));
  const root = joinParts(parts.slice(0, 1), { first, number: 0, spareFd });
  const bound = binds.map((bind, i) => openBind(bind, `bind-${i}`));
  return {
    opens: [...root.opens, ...bound.flatMap(({ opens }) => opens)],
    mounts: root.mounts,
    binds: bound,
  };
}

/** Makes the root of the sandbox, puts into it what waits, and it over the template's. */
function furnish(
  layout: Layout,
  { mounts, binds }: Root,
  { spareFd }: PlanFacts,
): Plan {
  const below = layout.parts.slice(1);
  return [
    ...mounts,
    step("enter it", "chdir", [placeOf(countLowers(below))]),
    ...below.map(({ target }, i) =>
      moveMount(placeOf(countLowers(below.slice(0, i))), target.slice(1))
    ),
    ...Object.entries(SYSTEM_PLACES).flatMap(([name, place]) => [
      findPlace(name),
      moveMount(place, name),
    ]),
    moveMount(".", "/"),
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

function moveMount(from: string, to: string): Step {
  const what = from === "." ? "the new root over the old" : `/${to} into place`;
  return step(`move ${what}`, "mount", [from, to, null, flags(MS, MS.MS_MOVE), null]);
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
