/** The one `Deno.dlopen`: every libc function the project calls, with its C prototype beside it. */

const rows = {
  // int *__errno_location(void);
  __errno_location: { parameters: [], result: "pointer" },
  // char *strerror(int errnum);
  strerror: { parameters: ["i32"], result: "pointer" },
  // void *mmap(void *addr, size_t length, int prot, int flags, int fd, off_t offset);
  mmap: { parameters: ["u64", "usize", "i32", "i32", "i32", "i64"], result: "i64" },
  // int munmap(void *addr, size_t length);
  munmap: { parameters: ["u64", "usize"], result: "i32" },
  // int mprotect(void *addr, size_t len, int prot);
  mprotect: { parameters: ["u64", "usize", "i32"], result: "i32" },
  // int openat(int dirfd, const char *pathname, int flags, mode_t mode);
  openat: { parameters: ["i32", "buffer", "i32", "u32"], result: "i32" },
  // int close(int fd);
  close: { parameters: ["i32"], result: "i32" },
  // ssize_t read(int fd, void *buf, size_t count);
  read: { parameters: ["i32", "buffer", "usize"], result: "isize" },
  // ssize_t write(int fd, const void *buf, size_t count);
  write: { parameters: ["i32", "buffer", "usize"], result: "isize" },
  // int pipe2(int pipefd[2], int flags);
  pipe2: { parameters: ["buffer", "i32"], result: "i32" },
  // int socketpair(int domain, int type, int protocol, int sv[2]);
  socketpair: { parameters: ["i32", "i32", "i32", "buffer"], result: "i32" },
  // int socket(int domain, int type, int protocol);
  socket: { parameters: ["i32", "i32", "i32"], result: "i32" },
  // int bind(int sockfd, const struct sockaddr *addr, socklen_t addrlen);
  bind: { parameters: ["i32", "buffer", "u32"], result: "i32" },
  // int connect(int sockfd, const struct sockaddr *addr, socklen_t addrlen);
  connect: { parameters: ["i32", "buffer", "u32"], result: "i32" },
  // int listen(int sockfd, int backlog);
  listen: { parameters: ["i32", "i32"], result: "i32" },
  // int accept4(int sockfd, struct sockaddr *addr, socklen_t *addrlen, int flags);
  accept4: { parameters: ["i32", "buffer", "buffer", "i32"], result: "i32" },
  // int getsockopt(int sockfd, int level, int optname, void *optval, socklen_t *optlen);
  getsockopt: { parameters: ["i32", "i32", "i32", "buffer", "buffer"], result: "i32" },
  // int fcntl(int fd, int cmd, int arg);
  fcntl: { parameters: ["i32", "i32", "i64"], result: "i32" },
  // int flock(int fd, int operation);
  flock: { parameters: ["i32", "i32"], result: "i32" },
  // int mkdirat(int dirfd, const char *pathname, mode_t mode);
  mkdirat: { parameters: ["i32", "buffer", "u32"], result: "i32" },
  // int mknodat(int dirfd, const char *pathname, mode_t mode, dev_t dev);
  mknodat: { parameters: ["i32", "buffer", "u32", "u64"], result: "i32" },
  // int symlinkat(const char *target, int newdirfd, const char *linkpath);
  symlinkat: { parameters: ["buffer", "i32", "buffer"], result: "i32" },
  // int linkat(int olddirfd, const char *oldpath, int newdirfd, const char *newpath, int flags);
  linkat: { parameters: ["i32", "buffer", "i32", "buffer", "i32"], result: "i32" },
  // int unlinkat(int dirfd, const char *pathname, int flags);
  unlinkat: { parameters: ["i32", "buffer", "i32"], result: "i32" },
  // int renameat(int olddirfd, const char *oldpath, int newdirfd, const char *newpath);
  renameat: { parameters: ["i32", "buffer", "i32", "buffer"], result: "i32" },
  // int fchmod(int fd, mode_t mode);
  fchmod: { parameters: ["i32", "u32"], result: "i32" },
  // int fchown(int fd, uid_t owner, gid_t group);
  fchown: { parameters: ["i32", "u32", "u32"], result: "i32" },
  // int fchmodat(int dirfd, const char *pathname, mode_t mode, int flags);
  fchmodat: { parameters: ["i32", "buffer", "u32", "i32"], result: "i32" },
  // int fchownat(int dirfd, const char *pathname, uid_t owner, gid_t group, int flags);
  fchownat: { parameters: ["i32", "buffer", "u32", "u32", "i32"], result: "i32" },
  // int utimensat(int dirfd, const char *pathname, const struct timespec times[2], int flags);
  utimensat: { parameters: ["i32", "buffer", "buffer", "i32"], result: "i32" },
  // int futimens(int fd, const struct timespec times[2]);
  futimens: { parameters: ["i32", "buffer"], result: "i32" },
  // int ftruncate(int fd, off_t length);
  ftruncate: { parameters: ["i32", "i64"], result: "i32" },
  // int fsync(int fd);
  fsync: { parameters: ["i32"], result: "i32" },
  // int syncfs(int fd);
  syncfs: { parameters: ["i32"], result: "i32" },
  syncfs_async: { name: "syncfs", parameters: ["i32"], result: "i32", nonblocking: true },
  // ssize_t copy_file_range(int in, off_t *off_in, int out, off_t *off_out, size_t len, unsigned flags);
  copy_file_range: {
    parameters: ["i32", "pointer", "i32", "pointer", "usize", "u32"],
    result: "isize",
  },
  // off_t lseek(int fd, off_t offset, int whence);
  lseek: { parameters: ["i32", "i64", "i32"], result: "i64" },
  // ssize_t getdents64(int fd, void *dirp, size_t count);
  getdents64: { parameters: ["i32", "buffer", "usize"], result: "isize" },
  // ssize_t readlinkat(int dirfd, const char *pathname, char *buf, size_t bufsiz);
  readlinkat: { parameters: ["i32", "buffer", "buffer", "usize"], result: "isize" },
  // ssize_t flistxattr(int fd, char *list, size_t size);
  flistxattr: { parameters: ["i32", "buffer", "usize"], result: "isize" },
  // ssize_t fgetxattr(int fd, const char *name, void *value, size_t size);
  fgetxattr: { parameters: ["i32", "buffer", "buffer", "usize"], result: "isize" },
  // int fsetxattr(int fd, const char *name, const void *value, size_t size, int flags);
  fsetxattr: { parameters: ["i32", "buffer", "buffer", "usize", "i32"], result: "i32" },
  // int lsetxattr(const char *path, const char *name, const void *value, size_t size, int flags);
  lsetxattr: { parameters: ["buffer", "buffer", "buffer", "usize", "i32"], result: "i32" },
  // int statfs(const char *path, struct statfs *buf);
  statfs: { parameters: ["buffer", "buffer"], result: "i32" },
  // int fstatfs(int fd, struct statfs *buf);
  fstatfs: { parameters: ["i32", "buffer"], result: "i32" },
  // int kill(pid_t pid, int sig);
  kill: { parameters: ["i32", "i32"], result: "i32" },
  // sighandler_t signal(int signum, sighandler_t handler);
  signal: { parameters: ["i32", "u64"], result: "i64" },
  // pid_t wait4(pid_t pid, int *wstatus, int options, struct rusage *rusage);
  wait4: { parameters: ["i32", "buffer", "i32", "buffer"], result: "i32" },
  // int prctl(int option, unsigned long arg2, arg3, arg4, arg5);
  prctl: { parameters: ["i32", "u64", "u64", "u64", "u64"], result: "i32" },
  // int memfd_create(const char *name, unsigned int flags);
  memfd_create: { parameters: ["buffer", "u32"], result: "i32" },
  // int poll(struct pollfd *fds, nfds_t nfds, int timeout);
  poll: { parameters: ["buffer", "u64", "i32"], result: "i32" },
  // int epoll_create1(int flags);
  epoll_create1: { parameters: ["i32"], result: "i32" },
  // int epoll_ctl(int epfd, int op, int fd, struct epoll_event *event);
  epoll_ctl: { parameters: ["i32", "i32", "i32", "buffer"], result: "i32" },
  // int epoll_wait(int epfd, struct epoll_event *events, int maxevents, int timeout);
  epoll_wait_async: {
    name: "epoll_wait",
    parameters: ["i32", "buffer", "i32", "i32"],
    result: "i32",
    nonblocking: true,
  },
  // int eventfd(unsigned int initval, int flags);
  eventfd: { parameters: ["u32", "i32"], result: "i32" },
  // int ioctl(int fd, unsigned long request, void *argp);
  ioctl: { parameters: ["i32", "u64", "buffer"], result: "i32" },
  // int sched_yield(void);
  sched_yield: { parameters: [], result: "i32" },
  // int ioctl(int fd, unsigned long request, int value);
  ioctl_value: { name: "ioctl", parameters: ["i32", "u64", "i64"], result: "i32" },
  // int getrlimit(int resource, struct rlimit *rlim);
  getrlimit: { parameters: ["i32", "buffer"], result: "i32" },
  // int setrlimit(int resource, const struct rlimit *rlim);
  setrlimit: { parameters: ["i32", "buffer"], result: "i32" },
  // long syscall(SYS_openat2, int dirfd, const char *pathname, struct open_how *how, size_t size);
  openat2: {
    name: "syscall",
    parameters: ["i64", "i64", "buffer", "buffer", "usize"],
    result: "i64",
  },
  // long syscall(SYS_statx, int dirfd, const char *pathname, int flags, unsigned int mask,
  //              struct statx *statxbuf);
  statx: {
    name: "syscall",
    parameters: ["i64", "i64", "buffer", "i64", "u64", "buffer"],
    result: "i64",
  },
  // long syscall(SYS_futex, uint32_t *uaddr, int op, uint32_t val, const struct timespec *timeout);
  futex: { name: "syscall", parameters: ["i64", "u64", "i64", "u64", "u64"], result: "i64" },
  // long syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, const char *name);
  keyctl_join: { name: "syscall", parameters: ["i64", "i64", "buffer"], result: "i64" },
  // long syscall(SYS_pidfd_open, pid_t pid, unsigned int flags);
  pidfd_open: { name: "syscall", parameters: ["i64", "i64", "u64"], result: "i64" },
  // long syscall(SYS_pidfd_send_signal, int pidfd, int sig, siginfo_t *info, unsigned int flags);
  pidfd_send_signal: {
    name: "syscall",
    parameters: ["i64", "i64", "i64", "buffer", "u64"],
    result: "i64",
  },
} as const satisfies Deno.ForeignLibraryInterface;

type Symbols = Deno.DynamicLibrary<typeof rows>["symbols"];
type Row = Deno.ForeignFunction;
type Call = (...args: unknown[]) => unknown;

const LIBRARY = "libc.so.6";

/** So many calls through a plain pointer, 3 us each, cost as much as a binding. */
const BOUND_AFTER = 64;

/**
 * The functions of libc, as called; their wrappers beside this file check what they return. Each is
 * called through a plain pointer first, and bound when it is called often: Deno compiles a way into
 * a function that is bound, 0.2 ms, and with all of them a start took 12 ms longer.
 */
export const libc: Symbols = bindLate(rows);

function bindLate(rows: Readonly<Record<string, Row>>): Symbols {
  const symbols: Record<string, Call> = {};
  for (const [name, row] of Object.entries(rows)) {
    let pointer: { readonly call: Call } | undefined;
    let calls = 0;
    symbols[name] = (...args) => {
      // A call on another thread needs its library open, or a pointer.
      if (row.nonblocking === true || ++calls <= BOUND_AFTER) {
        return (pointer ??= findPointer(name, row)).call(...args);
      }
      const bound = lookUp({ [name]: row })[name] as Call;
      symbols[name] = bound;
      return bound(...args);
    };
  }
  return symbols as unknown as Symbols;
}

let addresses: Readonly<Record<string, unknown>> | undefined;

function findPointer(name: string, row: Row): { readonly call: Call } {
  addresses ??= lookUp(Object.fromEntries(Object.entries(rows).map(toStatic)));
  const address = addresses[name] as Deno.PointerObject<Row>;
  return new Deno.UnsafeFnPointer(address, row) as unknown as { readonly call: Call };
}

/** A symbol declared as data is its own address. */
function toStatic([name, row]: readonly [string, Row]): [string, Deno.ForeignStatic] {
  return [name, { name: row.name ?? name, type: "pointer", optional: true }];
}

/** What is found stays when the handle is closed, for libc itself is never unloaded. */
function lookUp(symbols: Deno.ForeignLibraryInterface): Readonly<Record<string, unknown>> {
  const library = Deno.dlopen(LIBRARY, symbols);
  try {
    return { ...library.symbols };
  } finally {
    library.close();
  }
}
