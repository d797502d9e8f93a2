/** Locks on files: each belongs to an open descriptor, and the kernel lets it go with that. */
import { AT, LOCK } from "./constant.ts";
import { isErrno } from "./errno.ts";
import { flock } from "./file.ts";
import { lstatAt, statFd } from "./metadata.ts";

/** Takes a file's lock for itself; false if another has it, shared or not. @throws {SyscallError} */
export function tryLock(fd: number): boolean {
  try {
    flock(fd, LOCK.LOCK_EX | LOCK.LOCK_NB);
    return true;
  } catch (error) {
    if (!isErrno(error, "EAGAIN")) throw error;
    return false;
  }
}

/** Says whether a path still names the file that a descriptor has open. @throws {SyscallError} */
export function isSameFile(fd: number, path: string): boolean {
  try {
    const named = lstatAt(AT.AT_FDCWD, path);
    const open = statFd(fd);
    return named.inode === open.inode && named.device === open.device;
  } catch (error) {
    if (!isErrno(error, "ENOENT", "ENOTDIR")) throw error;
    return false;
  }
}
