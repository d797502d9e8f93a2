/** Attacks with `--allow-nesting`: of a program that has every capability in namespaces of its own. */
import { type Attack, cannot, testAttacks } from "../support/attack.ts";

/** Lifts the limits of the control group that it is in, of both versions. */
const LIFT = `
check(libc.unshare(0x02000000))
for kind, options, name in (("cgroup", b"memory", "memory.memsw.limit_in_bytes"), ("cgroup", b"pids", "pids.max"), ("cgroup2", None, "memory.max")):
    if attempt(call, "mount", "none", "/mnt", kind, 0, options) == "ok":
        opened("/mnt/" + name, os.O_WRONLY)`;

/** Becomes root of new user, mount, pid, network and other namespaces. */
const NEST = `
uid, gid = os.getuid(), os.getgid()
check(libc.unshare(0x10000000 | 0x20000 | 0x20000000 | 0x8000000 | 0x4000000 | 0x40000000))
for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
    with open("/proc/self/" + name, "w") as it:
        it.write(text)
`;

/** What the sandbox holds locked, or hides, and must go on doing so. */
const attacks: readonly Omit<Attack, "outside">[] = [
  {
    deed: "take off what covers a part of /proc",
    python:
      "call('umount2', '/proc/sysrq-trigger' if os.path.exists('/proc/sysrq-trigger') else '/proc/sys', 2)",
    inside: "EINVAL",
  },
  {
    deed: "make /proc/sys writable",
    python: "call('mount', None, '/proc/sys', None, 32 | 4096, None)",
    inside: "EPERM",
  },
  {
    deed: "unmount /proc, to see what lies below",
    python: "call('umount2', '/proc', 2)",
    inside: "EINVAL",
  },
  {
    deed: "change the host by a /proc of its own",
    python: `
if os.fork() == 0:
    attempt(call, "mount", "proc", "/mnt", "proc", 0, None)
    paths = ["sysrq-trigger", "sys/kernel/core_pattern", "sys/kernel/modprobe", "sys/vm/drop_caches", "kcore"]
    os._exit(sum(attempt(opened, "/mnt/" + it, os.O_WRONLY) == "ok" for it in paths))
return os.WEXITSTATUS(os.wait()[1])`,
    inside: "0",
  },
  {
    deed: "mount a /sys",
    python: `
call('mount', 'sysfs', '/mnt', 'sysfs', 0, None)
return sorted(it for it in os.listdir('/mnt/class/net') if it != 'lo')`,
    inside: "EPERM",
  },
  {
    deed: "mount the control groups of the host",
    python: `
check(libc.unshare(0x02000000))
call('mount', 'none', '/mnt', 'cgroup2', 0, None)
return [it for it in os.listdir('/mnt') if os.path.isdir('/mnt/' + it)]`,
    inside: "EPERM",
  },
  {
    deed: "lift its own limits",
    python: `
def lift():${LIFT.replaceAll("\n", "\n    ")}
answer = attempt(lift)
return "refused" if answer in ("EPERM", "EACCES", "ENOENT") else answer`,
    inside: "refused",
  },
  {
    deed: "mount a disk's file system, or a loop device",
    python:
      "return sorted({attempt(call, 'mount', '/dev/null', '/mnt', it, 0, None) for it in ('ext4', 'xfs', 'vfat')} - {'ENODEV'}) in (['EPERM'], [])",
    inside: "True",
  },
  {
    deed: "make a device node on a file system of its own, or open one",
    python: `
call('mount', 'none', '/mnt', 'tmpfs', 0, None)
return attempt(os.mknod, '/mnt/x', 0o020666, os.makedev(1, 5))`,
    inside: "EPERM",
  },
  {
    deed: "enter the namespaces of init",
    python:
      "return sorted({attempt(opened, f'/proc/1/ns/{it}') for it in ('user', 'mnt', 'pid', 'net')})",
    inside: "['EACCES']",
  },
  {
    deed: "trace init, or write its memory",
    python:
      "return [attempt(opened, '/proc/1/mem', os.O_RDWR), attempt(lambda: check(libc.ptrace(0x4206, 1, None, None)))]",
    inside: "['EACCES', 'EPERM']",
  },
  {
    deed: "leave its root by pivot_root",
    python: `
call('mount', 'none', '/mnt', 'tmpfs', 0, None)
os.mkdir('/mnt/old')
call('pivot_root', '/mnt', '/mnt/old')
names = os.listdir('/old')
return [it for it in ('u', 'l', 't', 'm') if it in names], "usr" in names`,
    inside: "([], True)",
  },
  {
    deed: "set the host's name by a name of its own",
    python: "call('sethostname', 'evil', 4)\nreturn os.uname().nodename",
    inside: "evil",
    host: () => Deno.hostname(),
  },
  {
    deed: "load a program for the kernel's machine, or use keys or io_uring",
    python: `
return [attempt(call, 'bpf', 0, bytes(128), 72), attempt(call, 'keyctl', 0, -4, 1, 0, 0),
    attempt(call, 'io_uring_setup', 1, bytes(120)), attempt(call, 'userfaultfd', 1)]`,
    inside: "['EPERM', 'EPERM', 'ENOSYS', 'EPERM']",
  },
  {
    deed: "go around the filter by clone3",
    python: "call('clone3', bytes(64), 64)",
    inside: "ENOSYS",
  },
];

testAttacks(attacks.map((it): Attack => ({
  ...it,
  deed: `${it.deed}, with every capability in namespaces of its own`,
  python: NEST + it.python.trim(),
  args: ["--allow-nesting"],
  outside: cannot("it is about what a sandbox covers"),
})));
