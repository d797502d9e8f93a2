/** The kernel's constants, by their C names; a test asks the C compiler for each. */
import { machine } from "./machine.ts";

/** Flags of `open(2)` that are the same on every machine. */
const oGeneric = {
  O_WRONLY: 1,
  O_RDWR: 2,
  O_CREAT: 0o100,
  O_EXCL: 0o200,
  O_NOCTTY: 0o400,
  O_TRUNC: 0o1000,
  O_APPEND: 0o2000,
  O_NONBLOCK: 0o4000,
  O_CLOEXEC: 0o2000000,
  O_PATH: 0o10000000,
} as const;

/** Flags of `open(2)` for each machine. */
export const O_BY_MACHINE = {
  x86_64: { ...oGeneric, O_DIRECTORY: 0o200000, O_NOFOLLOW: 0o400000 },
  aarch64: { ...oGeneric, O_DIRECTORY: 0o40000, O_NOFOLLOW: 0o100000 },
} as const;

/** Flags of `open(2)`. */
export const O = O_BY_MACHINE[machine];

/** Flags of the `*at` calls, and their special descriptor. */
export const AT = {
  AT_FDCWD: -100,
  AT_SYMLINK_NOFOLLOW: 0x100,
  AT_REMOVEDIR: 0x200,
  AT_SYMLINK_FOLLOW: 0x400,
  AT_EMPTY_PATH: 0x1000,
  AT_RECURSIVE: 0x8000,
} as const;

/** What `statx(2)` is asked for. */
export const STATX_MASK = { STATX_BASIC_STATS: 0x7ff } as const;

/** How `openat2(2)` resolves a path. */
export const RESOLVE = {
  RESOLVE_NO_XDEV: 0x01,
  RESOLVE_NO_MAGICLINKS: 0x02,
  RESOLVE_NO_SYMLINKS: 0x04,
  RESOLVE_BENEATH: 0x08,
  RESOLVE_IN_ROOT: 0x10,
} as const;

/** File types in a mode. */
export const S = {
  S_IFMT: 0o170000,
  S_IFIFO: 0o010000,
  S_IFCHR: 0o020000,
  S_IFDIR: 0o040000,
  S_IFBLK: 0o060000,
  S_IFREG: 0o100000,
  S_IFLNK: 0o120000,
  S_IFSOCK: 0o140000,
  S_IXUSR: 0o100,
  S_ISGID: 0o002000,
} as const;

/** Where `lseek(2)` counts from, or what it looks for. */
export const SEEK = { SEEK_SET: 0, SEEK_CUR: 1, SEEK_END: 2, SEEK_DATA: 3, SEEK_HOLE: 4 } as const;

/** Namespaces and sharing, for `clone(2)`, `unshare(2)` and `setns(2)`. */
export const CLONE = {
  CLONE_VM: 0x100,
  CLONE_FS: 0x200,
  CLONE_FILES: 0x400,
  CLONE_PIDFD: 0x1000,
  CLONE_VFORK: 0x4000,
  CLONE_PARENT: 0x8000,
  CLONE_NEWNS: 0x20000,
  CLONE_NEWCGROUP: 0x2000000,
  CLONE_NEWUTS: 0x4000000,
  CLONE_NEWIPC: 0x8000000,
  CLONE_NEWUSER: 0x10000000,
  CLONE_NEWPID: 0x20000000,
  CLONE_NEWNET: 0x40000000,
  CLONE_NEWTIME: 0x80,
  CLONE_CLEAR_SIGHAND: 0x100000000,
} as const;

/** Flags of `mount(2)`. */
export const MS = {
  MS_RDONLY: 1,
  MS_NOSUID: 2,
  MS_NODEV: 4,
  MS_NOEXEC: 8,
  MS_REMOUNT: 32,
  MS_BIND: 4096,
  MS_MOVE: 8192,
  MS_REC: 16384,
  MS_PRIVATE: 1 << 18,
  MS_SLAVE: 1 << 19,
} as const;

/** Flags of `umount2(2)`. */
export const MNT = { MNT_DETACH: 2 } as const;

/** Flags of `open_tree(2)` beside those of the `*at` calls and `O_CLOEXEC`. */
export const OPEN_TREE = { OPEN_TREE_CLONE: 1 } as const;

/** Flags of `move_mount(2)`. */
export const MOVE_MOUNT = { MOVE_MOUNT_F_EMPTY_PATH: 4, MOVE_MOUNT_T_EMPTY_PATH: 0x40 } as const;

/** Attributes of `mount_setattr(2)`. */
export const MOUNT_ATTR = {
  MOUNT_ATTR_RDONLY: 0x1,
  MOUNT_ATTR_NOSUID: 0x2,
  MOUNT_ATTR_NODEV: 0x4,
  MOUNT_ATTR_NOEXEC: 0x8,
  MOUNT_ATTR_IDMAP: 0x100000,
} as const;

/** Options of `prctl(2)`. */
export const PR = {
  PR_SET_PDEATHSIG: 1,
  PR_SET_DUMPABLE: 4,
  PR_SET_SECCOMP: 22,
  PR_CAPBSET_DROP: 24,
  PR_SET_CHILD_SUBREAPER: 36,
  PR_SET_NO_NEW_PRIVS: 38,
} as const;

/** Operations of `keyctl(2)`. */
export const KEYCTL = { KEYCTL_JOIN_SESSION_KEYRING: 1 } as const;

/** Modes of `seccomp(2)`. */
export const SECCOMP = { SECCOMP_MODE_FILTER: 2 } as const;

/** Capabilities by number (capabilities(7)). */
export const CAP = {
  CAP_CHOWN: 0,
  CAP_DAC_OVERRIDE: 1,
  CAP_FOWNER: 3,
  CAP_FSETID: 4,
  CAP_KILL: 5,
  CAP_SETGID: 6,
  CAP_SETUID: 7,
  CAP_SETPCAP: 8,
  CAP_NET_BIND_SERVICE: 10,
  CAP_NET_ADMIN: 12,
  CAP_NET_RAW: 13,
  CAP_SYS_CHROOT: 18,
  CAP_SYS_PTRACE: 19,
  CAP_SYS_ADMIN: 21,
  CAP_MKNOD: 27,
  CAP_SETFCAP: 31,
} as const;

/** Flags of `close_range(2)`. */
export const CLOSE_RANGE = { CLOSE_RANGE_UNSHARE: 2, CLOSE_RANGE_CLOEXEC: 4 } as const;

/** How `rt_sigprocmask(2)` changes the mask. */
export const SIG = { SIG_BLOCK: 0, SIG_UNBLOCK: 1, SIG_SETMASK: 2 } as const;

/** Signals by number (the same on both machines). */
export const SIGNAL = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGILL: 4,
  SIGTRAP: 5,
  SIGABRT: 6,
  SIGBUS: 7,
  SIGFPE: 8,
  SIGKILL: 9,
  SIGUSR1: 10,
  SIGSEGV: 11,
  SIGUSR2: 12,
  SIGPIPE: 13,
  SIGALRM: 14,
  SIGTERM: 15,
  SIGCHLD: 17,
  SIGCONT: 18,
  SIGSTOP: 19,
  SIGTSTP: 20,
  SIGTTIN: 21,
  SIGTTOU: 22,
  SIGXCPU: 24,
  SIGXFSZ: 25,
  SIGWINCH: 28,
  SIGSYS: 31,
} as const;

/** Operations of `fcntl(2)`. */
export const F = { F_GETFL: 3, F_SETFL: 4, F_DUPFD_CLOEXEC: 1030, F_ADD_SEALS: 1033 } as const;

/** Seals of a memfd. */
export const F_SEAL = {
  F_SEAL_SEAL: 1,
  F_SEAL_SHRINK: 2,
  F_SEAL_GROW: 4,
  F_SEAL_WRITE: 8,
} as const;

/** Flags of `memfd_create(2)`. */
export const MFD = { MFD_CLOEXEC: 1, MFD_ALLOW_SEALING: 2, MFD_EXEC: 0x10 } as const;

/** Operations of `flock(2)`. */
export const LOCK = { LOCK_SH: 1, LOCK_EX: 2, LOCK_NB: 4, LOCK_UN: 8 } as const;

/** Events of `poll(2)`. */
export const POLL = { POLLIN: 1, POLLOUT: 4, POLLERR: 8, POLLHUP: 16 } as const;

/** Calls and flags of `epoll_ctl(2)`. */
export const EPOLL = {
  EPOLL_CLOEXEC: 0o2000000,
  EPOLL_CTL_ADD: 1,
  EPOLL_CTL_DEL: 2,
  EPOLL_CTL_MOD: 3,
  EPOLLIN: 1,
  EPOLLOUT: 4,
  EPOLLONESHOT: 0x4000_0000,
  EPOLLET: 0x8000_0000,
} as const;

/** Flags of `eventfd(2)`. */
export const EFD = { EFD_NONBLOCK: 0o4000, EFD_CLOEXEC: 0o2000000 } as const;

/** Options of `wait4(2)`. */
export const W = { WNOHANG: 1 } as const;

/** Memory protection and mapping, for `mmap(2)`. */
export const PROT = { PROT_READ: 1, PROT_WRITE: 2, PROT_EXEC: 4 } as const;

/** Operations of `futex(2)`. */
export const FUTEX = { FUTEX_WAIT: 0, FUTEX_PRIVATE_FLAG: 128 } as const;

/** Kinds of mapping, for `mmap(2)`. */
export const MAP = { MAP_SHARED: 1, MAP_PRIVATE: 2, MAP_ANONYMOUS: 0x20 } as const;

/** Flags of inodes (ioctl_iflags(2)). */
export const FS_FLAG = {
  /** Directories in it belong to different matters: ext4 lays them far from each other. */
  FS_TOPDIR_FL: 0x0002_0000,
} as const;

/** Requests of `ioctl(2)`. */
export const IOCTL = {
  TCGETS: 0x5401,
  TCSETSF: 0x5404,
  TCFLSH: 0x540b,
  TIOCSCTTY: 0x540e,
  FIONREAD: 0x541b,
  TIOCSTI: 0x5412,
  TIOCSWINSZ: 0x5414,
  TIOCLINUX: 0x541c,
  TIOCSETD: 0x5423,
  TIOCGPTN: 0x80045430,
  TIOCSPTLCK: 0x40045431,
  TIOCSIG: 0x40045436,
  FS_IOC_GETFLAGS: 0x80086601,
  FS_IOC_SETFLAGS: 0x40086602,
  SIOCADDRT: 0x890b,
  SIOCSIFFLAGS: 0x8914,
  SIOCSIFADDR: 0x8916,
  SIOCSIFNETMASK: 0x891c,
} as const;

/** Flags of a terminal's mode, and a queue of it (termios(3)). */
export const TERMIOS = {
  ICRNL: 0o400,
  IXON: 0o2000,
  IXOFF: 0o10000,
  OPOST: 1,
  ISIG: 1,
  ICANON: 2,
  ECHO: 0o10,
  ECHOE: 0o20,
  ECHOK: 0o40,
  ECHONL: 0o100,
  ECHOCTL: 0o1000,
  ECHOKE: 0o4000,
  TCOFLUSH: 1,
} as const;

/** Resources of `getrlimit(2)`. */
export const RLIMIT = {
  RLIMIT_CPU: 0,
  RLIMIT_FSIZE: 1,
  RLIMIT_CORE: 4,
  RLIMIT_NPROC: 6,
  RLIMIT_NOFILE: 7,
  RLIMIT_SIGPENDING: 11,
  RLIMIT_MSGQUEUE: 12,
} as const;

/** Sockets. */
export const SOCKET = {
  AF_UNIX: 1,
  AF_INET: 2,
  SOCK_STREAM: 1,
  SOCK_DGRAM: 2,
  SOCK_CLOEXEC: 0o2000000,
  SOCK_NONBLOCK: 0o4000,
  SOL_SOCKET: 1,
  SO_PEERCRED: 17,
} as const;

/** Flags of a network interface. */
export const IFF = { IFF_UP: 1, IFF_LOOPBACK: 8, IFF_RUNNING: 0x40 } as const;

/** File system types, as `statfs(2)` gives them (linux/magic.h; NFS and CIFS from their sources). */
export const MAGIC = {
  OVERLAYFS_SUPER_MAGIC: 0x794c7630,
  NFS_SUPER_MAGIC: 0x6969,
  SMB2_SUPER_MAGIC: 0xfe534d42,
  FUSE_SUPER_MAGIC: 0x65735546,
  TMPFS_MAGIC: 0x01021994,
  PROC_SUPER_MAGIC: 0x9fa0,
} as const;

/** What the entries of a directory are (readdir(3)). */
export const DT = { DT_UNKNOWN: 0, DT_DIR: 4 } as const;

/** Operations of classic BPF, as seccomp filters use them. */
export const BPF = {
  BPF_LD: 0x00,
  BPF_ALU: 0x04,
  BPF_JMP: 0x05,
  BPF_RET: 0x06,
  BPF_W: 0x00,
  BPF_ABS: 0x20,
  BPF_AND: 0x50,
  BPF_JEQ: 0x10,
  BPF_JGE: 0x30,
  BPF_JSET: 0x40,
  BPF_K: 0x00,
} as const;

/** What a seccomp filter answers. */
export const SECCOMP_RET = {
  SECCOMP_RET_KILL_PROCESS: 0x80000000,
  SECCOMP_RET_ERRNO: 0x00050000,
  SECCOMP_RET_ALLOW: 0x7fff0000,
} as const;

/** The machine as seccomp sees it. */
export const AUDIT_ARCH_BY_MACHINE = { x86_64: 0xc000003e, aarch64: 0xc00000b7 } as const;
