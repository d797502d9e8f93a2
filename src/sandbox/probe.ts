/** Probes of the kernel: small plans of optional steps, carried out in a child of their own. */
import {
  AT,
  CLONE,
  closeQuietly,
  ERRNO,
  memfdCreateExecutable,
  Memory,
  nameErrno,
  setXattr,
  SyscallError,
  type SyscallName,
  wait,
} from "../../ffi/mod.ts";
import { carryOut } from "./carry_out.ts";
import { confine, hideMemory } from "./harden.ts";
import { flags, type Plan, step } from "./step.ts";

/** How the kernel answered: null for yes, else the name of its error. */
export type Answer = string | null;

/** A kind of namespace by the name that /proc/sys/user knows it by. */
export type NamespaceKind = keyof typeof NAMESPACES;

const NAMESPACES = {
  mnt: CLONE.CLONE_NEWNS,
  pid: CLONE.CLONE_NEWPID,
  net: CLONE.CLONE_NEWNET,
  ipc: CLONE.CLONE_NEWIPC,
  uts: CLONE.CLONE_NEWUTS,
  cgroup: CLONE.CLONE_NEWCGROUP,
} as const;

/** Calls that plans and we ourselves need and that came late, with arguments that do nothing. */
const CALLS: readonly (readonly [SyscallName, readonly number[]])[] = [
  ["open_tree", [-1, 0, -1]],
  ["move_mount", [-1, 0, -1, 0, -1]],
  ["mount_setattr", [-1, 0, -1, 0, 0]],
  ["close_range", [1, 0, 0]],
  ["pidfd_open", [-1, 0]],
  ["pidfd_send_signal", [-1, 0, 0, 0]],
  ["execveat", [-1, 0, 0, 0, -1]],
  ["openat2", [AT.AT_FDCWD, 0, 0, 0]],
  ["statx", [-1, 0, -1, 0, 0]],
];

const PLAN_BYTES = 64 * 1024;

/**
 * Lists the calls that this kernel does not know.
 *
 * @throws {SyscallError} If not even a process can be made.
 */
export function findMissingCalls(): string[] {
  const plan = CALLS.map(([call, args]) =>
    step(`ask for ${call}`, call, args, { output: call, optional: true })
  );
  let answers: Readonly<Record<string, Answer>>;
  try {
    answers = ask(plan);
  } catch (error) {
    if (error instanceof SyscallError && error.errno === ERRNO.ENOSYS) return ["clone3"];
    throw error;
  }
  return CALLS.map(([call]) => call).filter((call) => answers[call] === "ENOSYS");
}

/** Makes a user namespace, and in it one of each other kind. */
export function probeNamespaces(): Readonly<Record<"user" | NamespaceKind, Answer>> {
  const plan = Object.entries(NAMESPACES).map(([kind, flag]) =>
    step(`make a ${kind} namespace`, "unshare", [flags(CLONE, flag)], {
      output: kind,
      optional: true,
    })
  );
  const none = { user: null, mnt: null, pid: null, net: null, ipc: null, uts: null, cgroup: null };
  try {
    return { ...none, ...ask([...hideMemory(), ...plan], CLONE.CLONE_NEWUSER) };
  } catch (error) {
    if (!(error instanceof SyscallError)) throw error;
    return { ...none, user: error.code };
  }
}

/** Installs the filter that programs get. */
export function probeSeccomp(): Answer {
  using memory = new Memory(PLAN_BYTES);
  const running = carryOut(confine(), { memory, fds: {} });
  wait(running.child.pid);
  closeQuietly(running.child.pidfd);
  return running.refusal()?.error.code ?? null;
}

/** Sets an attribute as overlays of users do, on a file in memory. */
export function probeMemoryXattr(): Answer {
  const fd = memfdCreateExecutable("minisandbox-probe");
  try {
    setXattr(fd, "user.minisandbox", new Uint8Array([1]));
    return null;
  } catch (error) {
    if (error instanceof SyscallError) return error.code;
    throw error;
  } finally {
    closeQuietly(fd);
  }
}

/** Carries optional steps out, and gives the answer to each by its output's name. */
function ask(plan: Plan, cloneFlags = 0): Record<string, Answer> {
  using memory = new Memory(PLAN_BYTES);
  const running = carryOut(plan, { memory, fds: {}, flags: cloneFlags });
  wait(running.child.pid);
  closeQuietly(running.child.pidfd);
  const names = plan.flatMap(({ output }) => output ?? []);
  return Object.fromEntries(names.map((name) => {
    const result = running.output(name);
    return [name, result < 0 ? nameErrno(-result) : null];
  }));
}
