/** Plans what is done to files inside, by a process that nothing inside can see. */
import { AT, CLONE, O, OPEN_HOW, OPEN_TREE, RESOLVE, STATX, STATX_MASK } from "../../../ffi/mod.ts";
import type { Standing } from "../identity.ts";
import { enterInit, enterPair } from "../process_plan.ts";
import { cloneInside, CWD, enterHolder } from "../process_step.ts";
import {
  type Argument,
  type Fd,
  fd,
  flags,
  mode,
  type Output,
  output,
  type Plan,
  type Step,
  step,
} from "../step.ts";
import { pathArgument } from "./path.ts";

/** What such a plan depends on. */
export interface ActFacts {
  readonly standing: Standing;
  /** Whether id 0 exists inside. */
  readonly mapsRoot: boolean;
}

/**
 * Where it is done: among the sandbox's mounts as its root, there as the owner of the mounts, or by
 * descriptors alone.
 */
export type ActPlace = "inside" | "mounts" | "descriptors";

/** The longest target of a link (limits.h). */
const LINK_BYTES = 4096;

/**
 * Plans steps that root inside does. It shares our descriptors, so what it opens is ours; and it is
 * waited for without stopping us, since a file may have to be copied up before it opens.
 *
 * It stays in our pid namespace: programs inside neither see nor stop it.
 */
export function planAct(steps: Plan, place: ActPlace, facts: ActFacts): Plan {
  return [
    ...enterHolder(facts.standing),
    ...(place === "descriptors" ? [] : [enterInit(CLONE.CLONE_NEWNS)]),
    ...(place === "mounts" ? [] : enterPair(facts)),
    step("set the umask", "umask", [mode(0)]),
    cloneInside("make the process", CLONE.CLONE_FILES),
    ...steps,
  ];
}

const OPENING: readonly string[] = ["openat", "openat2", "open_tree"];

/** Names the descriptors that steps open: they stay open, since their process shares ours. */
export function openedBy(steps: Plan): string[] {
  return steps.filter(({ call }) => OPENING.includes(call)).map(({ output }) => output!);
}

/**
 * Opens a path from inside's own root, by no link of /proc: those lead to what programs have open, the
 * host's files among it.
 */
export function openPath(
  path: string,
  open: { readonly flags: number; readonly as: string },
): Step {
  return step("open it", "openat2", [CWD, pathArgument(path), how(open.flags), OPEN_HOW.size], {
    output: open.as,
  });
}

/** Makes a directory the working one. */
export function enterDirectory(path: string): Plan {
  return [
    openPath(path, { flags: O.O_PATH + O.O_DIRECTORY, as: `enter ${path}` }),
    step("enter it", "fchdir", [output(`enter ${path}`)]),
  ];
}

/** As `enterDirectory`, of one that we have open. */
export function enterOpen(name: string): Step {
  return step("enter it", "fchdir", [fd(name)]);
}

/** Makes what is missing of a path, and makes it the working directory. */
export function makeDirectories(path: string, permissions: number): Plan {
  const names = path.split("/").filter((name) => name !== "");
  return names.flatMap((name, i) => [
    makeDirectory(name, permissions, true),
    step("open it", "openat2", [
      CWD,
      pathArgument(name),
      how(O.O_PATH + O.O_DIRECTORY),
      OPEN_HOW.size,
    ], { output: `part ${i}` }),
    step("enter it", "fchdir", [output(`part ${i}`)]),
  ]);
}

/** Makes one directory in the working one. */
export function makeDirectory(name: string, permissions: number, optional = false): Step {
  return step("make it", "mkdirat", [CWD, pathArgument(name), mode(permissions)], { optional });
}

/** Opens the working directory itself. */
export function openHere(name: string, more = O.O_PATH): Step {
  return step("open it", "openat", [CWD, ".", flags(O, more, O.O_DIRECTORY, O.O_CLOEXEC), 0], {
    output: name,
  });
}

/** Asks what a name of the working directory is, a link itself. */
export function statName(name: string, room: string, optional = true): Step {
  return step("look at it", "statx", [
    CWD,
    pathArgument(name),
    flags(AT, AT.AT_SYMLINK_NOFOLLOW),
    STATX_MASK.STATX_BASIC_STATS,
    { room, size: STATX.size },
  ], { optional });
}

/** Asks what an earlier step has opened. */
export function statOpened(opened: Output | Fd, room: string): Step {
  return step("look at it", "statx", [
    opened,
    "",
    flags(AT, AT.AT_EMPTY_PATH),
    STATX_MASK.STATX_BASIC_STATS,
    { room, size: STATX.size },
  ]);
}

/** Asks where a name of the working directory leads, if it is a link. */
export function readLinkOf(name: string, room: string): Step {
  return step("read where it leads", "readlinkat", [
    CWD,
    pathArgument(name),
    { room, size: LINK_BYTES },
    LINK_BYTES - 1,
  ], { optional: true, output: room });
}

/** Makes a file in the working directory that was not there. */
export function makeFile(name: string, permissions: number, as: string): Step {
  return step("make it", "openat", [
    CWD,
    pathArgument(name),
    flags(O, O.O_WRONLY, O.O_CREAT, O.O_EXCL, O.O_NOFOLLOW, O.O_CLOEXEC),
    mode(permissions),
  ], { output: as });
}

/**
 * Opens again what is open, to be read or written: by our own /proc, and never such that it waits for
 * the other end of a pipe.
 */
export function reopen(open: number, access: number, as: string): Step {
  return step("open it", "openat", [
    CWD,
    `/proc/self/fd/${open}`,
    flags(O, access, O.O_NONBLOCK, O.O_NOCTTY, O.O_CLOEXEC),
    0,
  ], { output: as });
}

/** Gives what is open, if only as a path, an owner. */
export function giveTo(
  opened: Argument,
  { uid, gid }: { readonly uid: number; readonly gid: number },
): Step {
  return step("give it its owner", "fchownat", [
    opened,
    "",
    uid,
    gid,
    flags(AT, AT.AT_EMPTY_PATH),
  ]);
}

/** Gives an open file an owner, and then its mode, which a new owner would clear. */
export function describe(
  file: Argument,
  owner: { readonly uid: number; readonly gid: number } | null,
  permissions: number | null,
): Plan {
  return [
    ...(owner === null ? [] : [giveTo(file, owner)]),
    ...(permissions === null ? [] : [step("set its mode", "fchmod", [file, mode(permissions)])]),
  ];
}

/** Makes a mount of the working directory and all below it, which is nowhere yet. */
export function copyMount(as: string): Step {
  return step("copy its mount", "open_tree", [
    CWD,
    ".",
    flags(
      { ...OPEN_TREE, ...AT, OPEN_TREE_CLOEXEC: O.O_CLOEXEC },
      OPEN_TREE.OPEN_TREE_CLONE,
      O.O_CLOEXEC,
    ),
  ], { output: as });
}

/** Renames within the working directory. */
export function rename(from: string, to: string): Step {
  return step("rename it", "renameat", [CWD, pathArgument(from), CWD, pathArgument(to)]);
}

/** Removes a name of the working directory. */
export function remove(name: string, more: number, optional = false): Step {
  return step("remove it", "unlinkat", [CWD, pathArgument(name), flags(AT, more)], { optional });
}

function how(open: number): Argument {
  const known = Object.entries(O).filter(([, bit]) => (open & bit) === bit).map(([name]) => name);
  return {
    size: OPEN_HOW.size,
    fields: [
      { offset: OPEN_HOW.flags, value: open + O.O_CLOEXEC },
      { offset: OPEN_HOW.resolve, value: RESOLVE.RESOLVE_NO_MAGICLINKS },
    ],
    shown: `{${[...known, "O_CLOEXEC"].join("|")}, resolve=RESOLVE_NO_MAGICLINKS}`,
  };
}
