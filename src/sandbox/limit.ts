/** What a sandbox may use, and by which means of the kernel each limit is held. */

/** Limits of one sandbox; null where there is none. */
export interface Limits {
  /** Memory of all its processes and of its tmpfs, in bytes: a cgroup. */
  readonly memoryBytes: number | null;
  /** Swap beside that memory, in bytes: a cgroup. */
  readonly swapBytes: number | null;
  /** Processors, in parts of one: a cgroup. */
  readonly cpus: number | null;
  /** Share of the processors against others, 1 to 10000, of which 100 is usual: a cgroup. */
  readonly cpuWeight: number | null;
  /** Processes and threads: a cgroup where there is one, else, and usually, of each user (RLIMIT_NPROC). */
  readonly pids: number | null;
  /** Open files of each process (RLIMIT_NOFILE). */
  readonly openFiles: number | null;
  /** Size of each file written, in bytes (RLIMIT_FSIZE). */
  readonly fileBytes: number | null;
  /** Processor time of each process, in milliseconds, rounded up to seconds (RLIMIT_CPU). */
  readonly cpuTimeMs: number | null;
  /** Size of /tmp, in bytes. */
  readonly tmpBytes: number | null;
  /** Size of /dev/shm, in bytes. */
  readonly shmBytes: number | null;
}

/** What is not said. */
export const DEFAULT_LIMITS: Limits = {
  memoryBytes: null,
  swapBytes: null,
  cpus: null,
  cpuWeight: null,
  pids: 4096,
  openFiles: null,
  fileBytes: null,
  cpuTimeMs: null,
  tmpBytes: 2 * 1024 ** 3,
  shmBytes: 512 * 1024 ** 2,
};

/** No limit at all, for processes of our own. */
export const NO_LIMITS: Limits = {
  ...DEFAULT_LIMITS,
  pids: null,
  tmpBytes: null,
  shmBytes: null,
};
