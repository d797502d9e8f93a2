/** Attacks that run as plain programs in any sandbox, and the sandboxes that they are run in. */
import { BINARY, sharedStore } from "./minisandbox.ts";
import { programs, PYTHON } from "./attack.ts";

/** What the attacks are told of the host; each thing is there, and harmless to reach. */
export interface Target {
  /** A process of the host. */
  readonly pid: number;
  /** A directory that no sandbox is given, with a file `canary` that holds "precious". */
  readonly hidden: string;
  /** A file in the host's /tmp. */
  readonly tmp: string;
  /** A file in root's home. */
  readonly home: string;
  /** A directory that all are given read-only as /data, with a file `file`. */
  readonly data: string;
  /** A TCP port of the host's loopback, the name of an abstract socket, and a key of shared memory. */
  readonly port: number;
  readonly socket: string;
  readonly key: number;
  readonly hostname: string;
  /** The namespace of its name. */
  readonly uts: string;
  /** A word that marks processes that outlive their sandbox. */
  readonly mark: string;
  readonly watchers: number;
}

/** An attack: it got through if it returns. */
export interface PeerAttack {
  readonly deed: string;
  readonly python: string;
}

const PTRACE_SEIZE = 0x4206;

/** The attacks, in the order of the table. */
export const PEER_ATTACKS: readonly PeerAttack[] = [
  { deed: "see a process of the host", python: "open(f'/proc/{it.pid}/comm').read()" },
  { deed: "signal it", python: "os.kill(it.pid, 0)" },
  { deed: "trace it", python: `check(libc.ptrace(${PTRACE_SEIZE}, it.pid, None, None))` },
  { deed: "open its memory", python: "opened(f'/proc/{it.pid}/mem', os.O_RDWR)" },
  {
    deed: "read its environment",
    python: "return open(f'/proc/{it.pid}/environ').read().count('=') > 0",
  },
  {
    deed: "change its priority and limits",
    python: `
os.setpriority(os.PRIO_PROCESS, it.pid, os.getpriority(os.PRIO_PROCESS, it.pid))
call("prlimit64", it.pid, 7, None, ctypes.byref((ctypes.c_ulong * 2)()))`,
  },
  { deed: "hold it by a pidfd", python: "os.close(call('pidfd_open', it.pid, 0))" },
  {
    deed: "read any file of the host by /proc/PID/root",
    python: "open(f'/proc/{it.pid}/root{it.hidden}/canary').read()",
  },
  {
    deed: "leave its root by chroot and an open directory",
    python: `
if os.path.exists(it.hidden):
    os.chroot(it.tmp + ".d")
    os.chdir("/")
attempt(os.mkdir, "/tmp")
inner = f"/tmp/{os.getpid()}"
os.mkdir(inner)
top = os.open("/", os.O_RDONLY)
try:
    os.chroot(inner)
    os.fchdir(top)
    for _ in range(100):
        os.chdir("..")
    os.chroot(".")
    open(it.hidden + "/canary").read()
finally:
    os.fchdir(top)
    attempt(os.rmdir, "." + inner)`,
  },
  {
    deed: "make what is bound read-only writable",
    python: `
if not os.path.exists("/data/file"):
    check(libc.unshare(0x20000))
    call("mount", None, "/", None, 0x44000, None)
    call("mount", it.data, "/mnt", None, 4096, None)
    call("mount", None, "/mnt", None, 32 | 4096 | 1, None)
    place = "/mnt"
else:
    place = "/data"
call("mount", None, place, None, 32 | 4096, None)
opened(place + "/file", os.O_RDWR)`,
  },
  { deed: "read the host's /tmp", python: "open(it.tmp).read()" },
  { deed: "read root's home", python: "open(it.home).read()" },
  { deed: "read /etc/shadow", python: "open('/etc/shadow').read()" },
  {
    deed: "read the caller's environment",
    python: "return os.environ['MINISANDBOX_TEST_TOKEN'] == 'x'",
  },
  {
    deed: "connect to a port of the host",
    python: "socket.create_connection(('127.0.0.1', it.port), timeout=5).close()",
  },
  {
    deed: "connect to an abstract socket of the host",
    python: `
with socket.socket(socket.AF_UNIX) as own:
    own.connect("\\0" + it.socket)`,
  },
  { deed: "find shared memory of the host", python: "check(libc.shmget(it.key, 0, 0))" },
  { deed: "find the host's name", python: "return os.uname().nodename == it.hostname" },
  {
    deed: "set the host's name",
    python: `
call("sethostname", os.uname().nodename, len(os.uname().nodename))
return os.readlink("/proc/self/ns/uts") == it.uts`,
  },
  {
    deed: "mount a file system",
    python: `
place = "/mnt" if os.path.exists("/mnt") else "/tmp"
call("mount", "none", place, "tmpfs", 0, None)
call("umount2", place, 2)`,
  },
  { deed: "make a user namespace", python: "check(libc.unshare(0x10000000))" },
  {
    deed: "enter its namespaces",
    python: "call('setns', os.open(f'/proc/{it.pid}/ns/uts', 0), 0)",
  },
  {
    deed: "make a device node",
    python: `
path = f"/tmp/minisandbox-test-{os.getpid()}"
os.mknod(path, 0o060600, os.makedev(7, 0))
os.unlink(path)`,
  },
  { deed: "change the mode of the host's /dev/null", python: "os.chmod('/dev/null', 0o666)" },
  { deed: "open the host's kernel log", python: "opened('/dev/kmsg')" },
  {
    deed: "change how the kernel gives memory",
    python: "opened('/proc/sys/vm/overcommit_memory', os.O_WRONLY)",
  },
  {
    deed: "choose what runs when a program crashes",
    python: "opened('/proc/sys/kernel/core_pattern', os.O_WRONLY)",
  },
  {
    deed: "see the host's devices in /sys",
    python: "return len(os.listdir('/sys/class')) > 0",
  },
  {
    deed: "open a file by its handle (shocker)",
    python: `
handle = ctypes.create_string_buffer(struct.pack('Ii', 128, 0) + bytes(128))
check(libc.name_to_handle_at(-100, b"/usr", handle, ctypes.byref(ctypes.c_int()), 0))
os.close(check(libc.open_by_handle_at(os.open("/usr", 0), handle, 0)))`,
  },
  {
    deed: "restart the host (asked with a wrong number)",
    python: permitted("call('reboot', 0, 0, 0, None)", "EINVAL"),
  },
  {
    deed: "set the host's clock (to what cannot be)",
    python: permitted("check(libc.adjtimex(struct.pack('I', 0x4000) + bytes(300)))", "EINVAL"),
  },
  {
    deed: "load a program for the kernel's machine (bpf)",
    python: "os.close(call('bpf', 0, struct.pack('IIIII', 2, 4, 4, 1, 0) + bytes(100), 72))",
  },
  { deed: "handle page faults by userfaultfd", python: "os.close(call('userfaultfd', 1))" },
  { deed: "use its user's keyring", python: "call('keyctl', 0, -4, 1, 0, 0)" },
  { deed: "turn the randomization of addresses off", python: "call('personality', 0x0040000)" },
  {
    deed: "give a terminal a line discipline",
    python:
      "call('ioctl', os.openpty()[1] if os.path.exists('/dev/pts/ptmx') else terminal(), 0x5423, struct.pack('i', 0))",
  },
  {
    deed: "gain by set-uid programs",
    python:
      "return [l.split()[1] for l in open('/proc/self/status') if l[:10] == 'NoNewPrivs'] == ['0']",
  },
  {
    deed: "take all of its user's instances of inotify",
    python: `
count = 0
while count < it.watchers - 40 and libc.inotify_init1(0) >= 0:
    count += 1
return count == it.watchers - 40`,
  },
  {
    deed: "outlive its sandbox",
    python: `
if os.fork() == 0:
    os.setsid()
    if os.fork() != 0:
        os._exit(0)
    null = os.open("/dev/null", os.O_RDWR)
    for fd in range(3):
        os.dup2(null, fd)
    os.execv("${PYTHON}", ["${PYTHON}", "-c", "import time; time.sleep(600)", it.mark])
os.wait()`,
  },
  {
    deed: "write a file that it was given to read as stdin",
    python: `
fd = os.open("/proc/self/fd/0", os.O_RDWR)
os.write(fd, b"evil")`,
  },
];

/** The sandboxes, in the order of the table. */
export const PEERS = {
  host: "none",
  recipe: "the recipe",
  bwrap: "bwrap",
  minisandbox: "minisandbox",
} as const;

/** A sandbox, or none at all. */
export type Peer = keyof typeof PEERS;

/** One program of all attacks, which prints a list of answers. */
export function attackProgram(target: Target): string {
  const helpers = `
import types
def terminal():
    raise OSError(errno.ENODEV, "")`;
  return programs(PEER_ATTACKS.map(({ python }) => ({
    argument: () => JSON.stringify(target),
    python: `${helpers}
it = types.SimpleNamespace(**json.loads(ARG))
def deed():
${python.trim().split("\n").map((line) => `    ${line}`).join("\n")}
return "ok" if deed() in (None, True) else "nothing"`,
  })));
}

/** Gives the command that runs a program in a sandbox; `root` is an empty directory for its root. */
export function commandIn(peer: Peer, { root, data }: { root: string; data: string }): string[] {
  const python = [PYTHON, "-c"];
  switch (peer) {
    case "host":
      return python;
    case "recipe":
      return ["unshare", "--mount", "bash", "-euc", RECIPE, root, data, ...python];
    case "bwrap":
      return [...BWRAP, "--ro-bind", data, "/data", ...python];
    case "minisandbox":
      return [
        ...[BINARY, "run", "--quiet", "-i", "--store", sharedStore()],
        ...["--bind", `${data}:/data`, "--", ...python],
      ];
  }
}

/** The published recipe: a mount namespace, the host's directories bound, and chroot. */
const RECIPE = `
for dir in bin sbin lib lib64 usr etc opt root run var; do
  [ -e /$dir ] || continue
  mkdir -p "$0/$dir"
  mount --bind /$dir "$0/$dir"
  mount -o remount,bind,ro "$0/$dir"
done
for dir in dev proc sys tmp; do
  mkdir -p "$0/$dir"
  mount --bind /$dir "$0/$dir"
done
mkdir -p "$0/data" "$0/mnt"
mount --bind "$1" "$0/data"
mount -o remount,bind,ro "$0/data"
exec chroot "$0" "\${@:2}"`;

/** A usual line, with all namespaces, by an ordinary user. */
const BWRAP = [
  ...["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"],
  ...["bwrap", "--unshare-all", "--new-session", "--die-with-parent"],
  ...["--ro-bind", "/usr", "/usr", "--ro-bind", "/etc", "/etc", "--symlink", "usr/bin", "/bin"],
  ...["--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64"],
  ...["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--dir", "/mnt"],
];

/** What a permitted call with senseless arguments answers counts as having got through. */
function permitted(python: string, ...errnos: readonly string[]): string {
  return `
def ask():
    ${python}
answer = attempt(ask)
if answer not in ${JSON.stringify(errnos)}:
    raise OSError(getattr(errno, answer), "")`;
}
