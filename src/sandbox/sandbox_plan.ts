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
import { confineInit, dropCapabilities } from "./harden.ts";
import type { Standing } from "./identity.ts";
import type { Bind, Layout, Lower, Part } from "./layout.ts";
import type { Limits } from "./limit.ts";
import {
  becomeRoot,
  cleanUp,
  cloneInside,
  CWD,
  enterHolder,
  enterUserNamespace,
  executeInit,
  joinCgroups,
  leaveFiles,
  leaveOwner,
  setStdio,
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

/** What a plan depends on beside the layout. */
export interface PlanFacts {
  /** Whether trees are opened, and their ids mapped, before the holder's namespaces are entered. */
  readonly opensOutside: boolean;
  readonly standing: Standing;
  /** The number of the kernel's last capability. */
  readonly lastCapability: number;
  /** Entries of /proc to hide, of those that this kernel has. */
  readonly hidden: readonly HiddenPath[];
  /** Descriptors from here on are free for the plan's own use. */
  readonly spareFd: number;
  /** The files of the sandbox's cgroups to which a process writes to join. */
  readonly joinFiles: readonly string[];
}

/** An entry of /proc that is covered by an empty file or directory. */
export interface HiddenPath {
  readonly name: string;
  readonly isDirectory: boolean;
}

/** A tree of the host that the sandbox sees: opened outside, then moved to its place. */
interface Tree {
  readonly lower: Lower;
  readonly handle: Argument;
  readonly opens: Step[];
}

/**
 * Plans the sandbox; its init is the process `pid`.
 *
 * Mounts and init belong to the holder's user namespace, above the one that programs enter: no
 * capability inside reaches them, so neither can be changed, traced or kept alive from inside.
 */
export function planSandbox(layout: Layout, facts: PlanFacts): Plan {
  const lowers = layout.parts.flatMap((part) => part.lowers);
  const trees = lowers.map((lower, i) => openTree(lower, `layer-${i}`, facts.spareFd + i));
  const binds = layout.binds.map((bind, i) => openBind(bind, `bind-${i}`));
  const upper = layout.upper.kind === "disk"
    ? [openTree({ path: layout.upper.dir, isIdMapped: false }, "upper", 0)]
    : [];
  const opens = [...trees, ...binds, ...upper].flatMap((tree) => tree.opens);
  const intoHolder = enterHolder(facts.standing);
  const intoHost = step("enter the copy of the host's mounts", "setns", [
    fd("host-mounts"),
    flags(CLONE, CLONE.CLONE_NEWNS),
  ]);
  return [
    ...leaveFiles(),
    ...leaveOwner(),
    ...joinCgroups(facts.joinFiles),
    ...(facts.opensOutside ? [...opens, ...intoHolder] : [
      ...enterUserNamespace(facts.standing),
      intoHost,
      ...opens, // with the permissions of who runs us
      ...becomeRoot(facts.standing),
    ]),
    step("enter the template", "setns", [fd("template"), flags(CLONE, CLONE.CLONE_NEWNS)]),
    step("make the sandbox's namespaces", "unshare", [
      flags(
        CLONE,
        CLONE.CLONE_NEWNS,
        CLONE.CLONE_NEWPID,
        CLONE.CLONE_NEWIPC,
        CLONE.CLONE_NEWUTS,
        CLONE.CLONE_NEWCGROUP,
      ),
    ]),
    cloneInside("make the first process", CLONE.CLONE_VFORK),
    ...trees.map((tree, i) => moveTree(tree, `/l/${i}`)),
    ...mountUpper(layout, upper[0]),
    ...mountParts(layout.parts),
    ...mountSystem(facts, layout.limits),
    step("move the new root over the old", "mount", [
      ".",
      "/",
      null,
      flags(MS, MS.MS_MOVE),
      null,
    ]),
    step("change to the new root", "chroot", ["."]),
    step("enter the new root", "chdir", ["/"]),
    ...layout.binds.flatMap((bind, i) =>
      mountBind(bind, binds[i]!, { name: `bind-${i}`, number: facts.spareFd })
    ),
    ...(layout.network === "host" ? [] : [
      step("enter the sandbox's network namespace", "setns", [
        fd("pair-net"),
        flags(CLONE, CLONE.CLONE_NEWNET),
      ]),
    ]),
    step("set the hostname", "sethostname", [layout.hostname, layout.hostname.length]),
    step("lead a session", "setsid", []),
    ...setStdio(fd("alive"), fd("keep"), fd("null")),
    ...dropCapabilities(facts.lastCapability, initCapabilities(facts.standing)),
    ...confineInit(),
    ...cleanUp(),
    executeInit("init"),
  ];
}

/**
 * In one user namespace with programs, init needs a capability that they lack: who has not all that
 * another has cannot trace it (ptrace(2)).
 */
function initCapabilities({ hasUserNamespace }: Standing): ("CAP_SYS_PTRACE")[] {
  return hasUserNamespace ? [] : ["CAP_SYS_PTRACE"];
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

/** Directories of the root that something of ours is mounted on. */
const SYSTEM_PLACES = ["dev", "tmp", "run", "proc"];

function mountSystem({ hidden, standing }: PlanFacts, limits: Limits): Step[] {
  const quiet = flags(MS, MS.MS_NOSUID, MS.MS_NODEV, MS.MS_NOEXEC);
  return [
    ...SYSTEM_PLACES.map(findPlace),
    step("move /dev into place", "mount", ["/t/dev", "dev", null, flags(MS, MS.MS_MOVE), null]),
    step("mount /dev/pts", "mount", [
      "devpts",
      "dev/pts",
      "devpts",
      flags(MS, MS.MS_NOSUID, MS.MS_NOEXEC),
      "newinstance,ptmxmode=0666,mode=620",
    ]),
    mountTmpfs("/dev/shm", "dev/shm", `mode=1777${sized(limits.shmBytes)}`),
    mountTmpfs("/tmp", "tmp", `mode=1777${sized(limits.tmpBytes)}`),
    mountTmpfs("/run", "run", `mode=755${sized(limits.tmpBytes)}`),
    step("mount /proc", "mount", ["proc", "proc", "proc", quiet, null]),
    // As long as one is whole, who has namespaces of his own can mount another: no host's root shall.
    ...(standing.hasUserNamespace ? [] : [bindOver("/t/null", "/t/proc/version")]),
    bindOver("/t/sys", "proc/sys"),
    ...hidden.map(({ name, isDirectory }) =>
      bindOver(isDirectory ? "/t/empty" : "/t/null", `proc/${name}`)
    ),
  ];
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

function mountTmpfs(what: string, target: string, options: string): Step {
  return step(`mount ${what}`, "mount", [
    "tmpfs",
    target,
    "tmpfs",
    flags(MS, MS.MS_NOSUID, MS.MS_NODEV),
    options,
  ]);
}

function sized(bytes: number | null): string {
  return bytes === null ? "" : `,size=${bytes}`;
}

function makeDirectory(path: string, parent: Argument = CWD): Step {
  return step(`make ${path}`, "mkdirat", [parent, path, mode(0o755)]);
}

function bindOver(source: string, target: string): Step {
  return step(`cover ${target.startsWith("/") ? "" : "/"}${target}`, "mount", [
    source,
    target,
    null,
    flags(MS, MS.MS_BIND),
    null,
  ]);
}
