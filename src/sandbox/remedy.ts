/** What to do when a step is refused: the remedy for what the kernel said. */
import { describeErrno, ERRNO, isErrno, SyscallError } from "../../ffi/mod.ts";
import { HostError } from "../errors.ts";
import { type Docker, dockerRemedy, readDocker } from "./docker.ts";
import type { Step } from "./step.ts";

interface Remedy {
  /** The step's call. */
  readonly call: string;
  /** How the step's name begins. */
  readonly name: string;
  /** What the kernel said; absent for anything. */
  readonly errno?: number;
  readonly text: string;
}

const { EPERM, EINVAL, ENOSPC, EUSERS, EACCES, ENOENT, EAGAIN } = ERRNO;

const REMEDIES: readonly Remedy[] = [
  {
    call: "mount",
    name: "mount overlay",
    errno: EINVAL,
    text: "What the sandbox writes must lie on a local disk or in memory, not on an overlay or a " +
      "network file system: give --upper-dir DIR on another disk, or --upper tmpfs.",
  },
  {
    call: "mount",
    name: "mount overlay",
    errno: EPERM,
    text: "Overlay mounts by ordinary users need Linux 5.11 or newer, and a security module that " +
      "lets them; see minisandbox doctor.",
  },
  {
    call: "mount",
    name: "mount a proc",
    errno: EPERM,
    text:
      "The host's /proc is covered in places, as in a container: start it so that /proc is not.",
  },
  {
    call: "mount",
    name: "mount /proc",
    errno: EPERM,
    text:
      "The host's /proc is covered in places, as in a container: start it so that /proc is not.",
  },
  {
    call: "unshare",
    name: "",
    errno: ENOSPC,
    text: "The host allows no more namespaces: raise the limits in /proc/sys/user/ " +
      "(sysctl user.max_user_namespaces, user.max_net_namespaces, user.max_mnt_namespaces).",
  },
  {
    call: "unshare",
    name: "",
    errno: EUSERS,
    text: "User namespaces are nested too deeply here: start minisandbox outside of a sandbox.",
  },
  {
    call: "unshare",
    name: "",
    errno: EPERM,
    text: "The host refuses namespaces: on Ubuntu see sysctl " +
      "kernel.apparmor_restrict_unprivileged_userns; in a container, its filter.",
  },
  {
    call: "mount_setattr",
    name: "map the ids",
    errno: EINVAL,
    text:
      "This file system cannot be mounted with mapped ids: put it on ext4, xfs, btrfs or tmpfs.",
  },
  {
    call: "open_tree",
    name: "open",
    errno: EACCES,
    text: "Make every directory above it searchable for the user who runs minisandbox.",
  },
  {
    call: "open_tree",
    name: "open",
    errno: EINVAL,
    text: "Something is mounted below it that must not be uncovered: bind it with --bind instead.",
  },
  {
    call: "move_mount",
    name: "bind",
    errno: EINVAL,
    text: "The target is a link inside: give the path that it leads to.",
  },
  {
    call: "clone",
    name: "make the process",
    errno: EAGAIN,
    text:
      "The sandbox has as many processes as it may: end some, or give it a larger limit of pids.",
  },
  {
    call: "chdir",
    name: "enter the working directory",
    errno: ENOENT,
    text: "Give --workdir a directory that exists inside the sandbox.",
  },
];

/** Calls that Docker's filter, its covered /proc or its AppArmor profile refuse. */
const REFUSED_BY_DOCKER: readonly string[] = [
  "mount",
  "unshare",
  "setns",
  "open_tree",
  "move_mount",
];

/**
 * Gives the remedy for a refused step, or null if none is known.
 *
 * @param docker The container that we are in.
 */
export function remedyFor(
  step: Step,
  errno: number,
  docker: Docker | null = readDocker(),
): string | null {
  const isRefusal = errno === EPERM || (errno === EACCES && step.call === "mount");
  if (docker !== null && isRefusal && REFUSED_BY_DOCKER.includes(step.call)) {
    return dockerRemedy(docker);
  }
  const found = REMEDIES.find((it) =>
    it.call === step.call && step.name.startsWith(it.name) &&
    (it.errno === undefined || it.errno === errno)
  );
  return found?.text ?? null;
}

/** Turns the refusal of a user namespace into the error that the caller sees. */
export function noUserNamespace(error: unknown): unknown {
  if (!(error instanceof SyscallError)) return error;
  const docker = isErrno(error, "EPERM", "ENOSYS", "EACCES") ? readDocker() : null;
  return new HostError(`Cannot make a user namespace: ${describeErrno(error.errno)}`, {
    cause: error,
    remedy: docker !== null
      ? dockerRemedy(docker)
      : "Allow them: sysctl user.max_user_namespaces (not 0), on Debian " +
        "kernel.unprivileged_userns_clone=1, on Ubuntu " +
        "kernel.apparmor_restrict_unprivileged_userns=0; see minisandbox doctor.",
  });
}
