/** Sizes and offsets of the kernel's structures, in bytes; a test asks the C compiler for each. */

/** `struct clone_args` (clone(2)). */
export const CLONE_ARGS = { size: 88, flags: 0, pidfd: 8, exit_signal: 32 } as const;

/** `struct mount_attr` (mount_setattr(2)). */
export const MOUNT_ATTR_STRUCT = { size: 32, attr_set: 0, userns_fd: 24 } as const;

/** `struct open_how` (openat2(2)). */
export const OPEN_HOW = { size: 24, flags: 0, mode: 8, resolve: 16 } as const;

/** `struct rusage` (getrusage(2)); times in seconds and microseconds, `ru_maxrss` in KiB. */
export const RUSAGE = { size: 144, ru_utime: 0, ru_stime: 16, ru_maxrss: 32 } as const;

/** `struct ifreq` (netdevice(7)). */
export const IFREQ = { size: 40, ifr_name: 0, ifr_flags: 16, ifr_addr: 16 } as const;

/** `struct rtentry` (linux/route.h), and the flag of a route that can be used. */
export const RTENTRY = {
  size: 120,
  rt_dst: 8,
  rt_genmask: 40,
  rt_flags: 56,
  rt_dev: 88,
  RTF_UP: 1,
} as const;

/** `struct sockaddr_in` (ip(7)). */
export const SOCKADDR_IN = { size: 16, sin_family: 0, sin_addr: 4 } as const;

/** `struct sockaddr_un` (unix(7)). */
export const SOCKADDR_UN = { size: 110, sun_family: 0, sun_path: 2 } as const;

/** `struct ucred` (unix(7)). */
export const UCRED = { size: 12, pid: 0, uid: 4, gid: 8 } as const;

/** `struct winsize` (ioctl_tty(2)). */
export const WINSIZE = { size: 8, ws_row: 0, ws_col: 2 } as const;

/** `struct termios` as the kernel has it (ioctl_tty(2)), without the names of its keys. */
export const TERMIOS_STRUCT = { size: 36, c_iflag: 0, c_oflag: 4, c_lflag: 12 } as const;

/** `struct pollfd` (poll(2)). */
export const POLLFD = { size: 8, fd: 0, events: 4, revents: 6 } as const;

/** `struct epoll_event` (epoll_ctl(2)): packed on x86_64 alone. */
export const EPOLL_EVENT_BY_MACHINE = {
  x86_64: { size: 12, events: 0, data: 4 },
  aarch64: { size: 16, events: 0, data: 8 },
} as const;

/** `struct sock_filter` and `struct sock_fprog` (seccomp(2)). */
export const SOCK_FPROG = { size: 16, len: 0, filter: 8, instruction: 8 } as const;

/** `struct seccomp_data` (seccomp(2)). */
export const SECCOMP_DATA = { nr: 0, arch: 4, args: 16 } as const;

/** `struct sigaction` as the kernel takes it (rt_sigaction(2)): all zero is SIG_DFL. */
export const SIGACTION = { size: 32 } as const;

/** `struct statfs` (statfs(2)). */
export const STATFS = {
  size: 120,
  f_type: 0,
  f_bsize: 8,
  f_bavail: 32,
  f_files: 40,
  f_ffree: 48,
} as const;

/** `struct statx` (statx(2)); each time is 8 bytes of seconds and 4 of nanoseconds. */
export const STATX = {
  size: 256,
  stx_nlink: 16,
  stx_uid: 20,
  stx_gid: 24,
  stx_mode: 28,
  stx_ino: 32,
  stx_size: 40,
  stx_blocks: 48,
  stx_ctime: 96,
  stx_mtime: 112,
  stx_rdev_major: 128,
  stx_rdev_minor: 132,
  stx_dev_major: 136,
  stx_dev_minor: 140,
} as const;

/** `struct dirent64` (getdents64(2)): the name ends at a NUL. */
export const DIRENT64 = { d_reclen: 16, d_type: 18, d_name: 19 } as const;
