/** Flags of inodes (ioctl_iflags(2)). */
import { FS_FLAG, IOCTL } from "./constant.ts";
import { check } from "./errno.ts";
import { libc } from "./libc.ts";

/** Adds a flag to an inode. @throws {SyscallError} ENOTTY or EOPNOTSUPP where there are none such. */
export function addInodeFlag(fd: number, flag: keyof typeof FS_FLAG): void {
  const flags = new Int32Array(1);
  request(fd, "FS_IOC_GETFLAGS", flags);
  flags[0]! |= FS_FLAG[flag];
  request(fd, "FS_IOC_SETFLAGS", flags);
}

function request(
  fd: number,
  name: "FS_IOC_GETFLAGS" | "FS_IOC_SETFLAGS",
  flags: Int32Array<ArrayBuffer>,
): void {
  check(libc.ioctl(fd, BigInt(IOCTL[name]), flags), () => `ioctl(${fd}, ${name})`);
}
