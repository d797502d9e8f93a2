/** What the kernel says of a file inside, in words. */
import { describeErrno, type ErrnoName, type SyscallError } from "../../../ffi/mod.ts";
import { HostError, type MinisandboxError, NotFoundError, UsageError } from "../../errors.ts";
import { showPath } from "./path.ts";

/** What is wrong with what the caller asked. */
const STATES: Partial<Record<ErrnoName, string>> = {
  ENOTDIR: "a part of it is no directory",
  EISDIR: "it is a directory",
  EEXIST: "it is there already",
  ENOTEMPTY: "it is a directory that is not empty",
  ELOOP: "it leads through a link of /proc, or through too many",
  EACCES: "permission denied",
  EPERM: "that is not permitted",
  EROFS: "it cannot be written there",
  EBUSY: "something is mounted there",
  ENAMETOOLONG: "a name of it is too long",
  EXDEV: "it lies on another mount",
  EINVAL: "no file can have this name or owner",
  EOVERFLOW: "its owner does not exist inside",
  ETXTBSY: "it is being executed",
  ENXIO: "it is no regular file",
  ENODEV: "it is no regular file",
};

/** Makes the error of a file: `Cannot <verb> "<path>": <state>`. */
export function fileError(verb: string, path: string, error: SyscallError): MinisandboxError {
  const what = `Cannot ${verb} ${showPath(path)}`;
  const cause = { cause: error };
  const code = error.code as ErrnoName;
  if (code === "ENOENT") {
    return new NotFoundError(`${what}: there is no such file or directory`, cause);
  }
  const state = STATES[code];
  if (state !== undefined) return new UsageError(`${what}: ${state}`, cause);
  return new HostError(`${what}: ${describeErrno(error.errno)}`, {
    ...cause,
    ...(code === "ENOSPC" || code === "EDQUOT"
      ? { remedy: "What the sandbox may write, or the disk, is full." }
      : {}),
  });
}
