/** Steps that plans of every kind share: becoming root of a namespace, and executing. */
import { AT, CLONE, CLOSE_RANGE, O, RLIMIT, SIG, SIGACTION, SIGNAL } from "../../ffi/mod.ts";
import type { Standing } from "./identity.ts";
import { hideMemory } from "./harden.ts";
import { signalName } from "./signal.ts";
import {
  type Argument,
  bytes,
  type Fd,
  fd,
  flags,
  named,
  type Output,
  output,
  type Plan,
  type Step,
  step,
  type Struct,
} from "./step.ts";

/** The working directory, as the `*at` calls know it. */
export const CWD = AT.AT_FDCWD;

/**
 * Drops the copy of what tells sandboxes that their owner lives: a child that a program inside has
 * stopped must not keep it open when the owner is gone.
 */
export function leaveOwner(): Plan {
  return [step("let go of the owner's end", "close", [fd("owner")])];
}

/**
 * Takes leave of our descriptors but those that plans name, which have low numbers: there are thousands,
 * and each would be copied and closed. The first step of a process that was cloned with CLONE_FILES.
 */
export function leaveFiles(): Plan {
  return [
    step("leave our descriptors", "close_range", [
      fd("beyond"),
      0xffff_ffff,
      flags(CLOSE_RANGE, CLOSE_RANGE.CLOSE_RANGE_UNSHARE),
    ]),
  ];
}

/** Joins cgroups, before anything is done that they should count. */
export function joinCgroups(files: readonly string[]): Plan {
  return openCgroups(files).flatMap((open, i) => [
    open,
    step("join the cgroup", "write", [output(`cgroup-${i}`), bytes("0"), 1]),
  ]);
}

/** Opens the files by which cgroups are joined, as `cgroup-N`. */
export function openCgroups(files: readonly string[]): Plan {
  return files.map((file, i) =>
    step(`open "${file}"`, "openat", [CWD, file, flags(O, O.O_WRONLY, O.O_CLOEXEC), 0], {
      output: `cgroup-${i}`,
    })
  );
}

/** Enters the holder's user namespace, if there is one, and becomes its root without other groups. */
export function enterHolder(standing: Standing): Plan {
  return [...enterUserNamespace(standing), ...becomeRoot(standing)];
}

/** Enters the holder's user namespace, if there is one, with ids and groups as they are. */
export function enterUserNamespace({ hasUserNamespace }: Standing): Plan {
  if (!hasUserNamespace) return [];
  return [
    step("enter the holder's user namespace", "setns", [
      fd("holder-user"),
      flags(CLONE, CLONE.CLONE_NEWUSER),
    ]),
  ];
}

/** Becomes root of the user namespace that was entered last. */
export function becomeRoot({ canSetGroups }: Pick<Standing, "canSetGroups">): Plan {
  return [
    ...(canSetGroups ? [step("leave the host's groups", "setgroups", [0, null])] : []),
    step("become its root group", "setresgid", [0, 0, 0]),
    step("become its root user", "setresuid", [0, 0, 0]),
    ...hideMemory(),
  ];
}

/**
 * Clones the process that goes on with the plan, in the namespaces prepared for it. It is our own
 * child, to be reaped by us: another's reaper may be slow, or not there at all in a container.
 */
export function cloneInside(name: string, ...more: number[]): Step {
  const all = [CLONE.CLONE_VM, CLONE.CLONE_PARENT, ...more];
  return step(name, "clone", [cloneFlags(all), 0, 0, 0, 0], {
    output: "pid",
    endsParent: true,
  });
}

/** Does the same with a copy of our memory. */
export function forkInside(name: string): Step {
  return step(name, "clone", [cloneFlags([CLONE.CLONE_PARENT]), 0, 0, 0, 0], {
    output: "pid",
    endsParent: true,
  });
}

/** Puts descriptors in the place of 0, 1, 2. */
export function setStdio(...sources: readonly (Fd | Output)[]): Plan {
  return sources.map((source, i) => step(`set descriptor ${i}`, "dup3", [source, i, 0]));
}

/** Lets only 0, 1 and 2 cross the execution, with signals as a new program expects them. */
export function cleanUp(): Plan {
  return [
    step("close other descriptors", "close_range", [
      3,
      0xffff_ffff,
      flags(CLOSE_RANGE, CLOSE_RANGE.CLOSE_RANGE_CLOEXEC),
    ]),
    ...resetSignals([SIGNAL.SIGPIPE]),
  ];
}

/**
 * Sets signals as a new program expects them.
 *
 * @param ignored Signals that we ignore: those that we catch are reset by the clone.
 */
export function resetSignals(ignored: readonly number[]): Plan {
  const zeros: Struct = { size: SIGACTION.size, fields: [], shown: "SIG_DFL" };
  return [
    ...ignored.map((signal) =>
      step(`reset ${signalName(signal)}`, "rt_sigaction", [signal, zeros, null, 8])
    ),
    step("unblock signals", "rt_sigprocmask", [flags(SIG, SIG.SIG_SETMASK), noSignals, null, 8]),
  ];
}

/** Limits a resource of the process itself and of those it makes. */
export function limitResource(resource: keyof typeof RLIMIT, soft: number, hard = soft): Step {
  return step(`limit ${resource}`, "prlimit64", [
    0,
    named(RLIMIT, resource),
    {
      size: 16,
      fields: [{ offset: 0, value: soft }, { offset: 8, value: hard }],
      shown: `{${soft}, ${hard}}`,
    },
    null,
  ]);
}

/** Executes our init, which lies in a memfd: it needs no file of the sandbox. */
export function executeInit(name: string): Step {
  return step(`execute ${name}`, "execveat", [
    fd("init"),
    "",
    { vector: [name] },
    { vector: [] },
    flags(AT, AT.AT_EMPTY_PATH),
  ]);
}

/** Opens a namespace of the process itself by its link in a procfs. */
export function openOwnNamespace(proc: string, kind: string, output: string): Step {
  return step(`open its ${kind} namespace`, "openat", [
    CWD,
    `${proc}/self/ns/${kind}`,
    flags(O, O.O_CLOEXEC),
    0,
  ], { output });
}

const noSignals: Argument = { ...bytes("\0\0\0\0\0\0\0\0"), shown: "[]" };

function cloneFlags(values: readonly number[]): Argument {
  const value = values.reduce((sum, it) => sum + it, SIGNAL.SIGCHLD);
  return { value, names: { ...CLONE, SIGCHLD: SIGNAL.SIGCHLD } };
}
