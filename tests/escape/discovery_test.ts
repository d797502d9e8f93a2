/** What tools that look for a way out of a container (deepce, CDK, linpeas) look for, as tests. */
import { cannot, PYTHON, testAttacks } from "../support/attack.ts";

/** Where secrets of a host, a cloud or an orchestrator lie. */
const SECRETS = [
  ...["/.dockerenv", "/run/.containerenv", "/var/run/secrets/kubernetes.io", "/run/secrets"],
  ...["/root/.ssh", "/root/.aws", "/root/.kube", "/root/.docker", "/root/.gnupg", "/root/.config"],
  ...["/root/.bash_history", "/root/.git-credentials", "/root/.netrc", "/root/.pypirc"],
  ...["/etc/shadow-", "/etc/kubernetes", "/etc/rancher", "/etc/docker", "/etc/wireguard"],
  ...["/etc/NetworkManager", "/etc/crontab", "/etc/cron.d", "/etc/sudoers.d"],
  ...["/var/spool/cron", "/var/mail/root", "/var/log/auth.log", "/var/log/syslog", "/var/backups"],
  ...["/var/lib/kubelet", "/var/lib/docker", "/var/lib/containerd", "/var/lib/cloud", "/boot/grub"],
];

/** Sockets of daemons that do what they are asked as root. */
const SOCKETS = [
  ...["/run/docker.sock", "/var/run/docker.sock", "/run/containerd/containerd.sock"],
  ...["/run/crio/crio.sock", "/run/podman/podman.sock", "/run/dbus/system_bus_socket"],
  ...["/run/systemd/private", "/run/snapd.socket", "/var/run/libvirt/libvirt-sock"],
  ...["/run/systemd/journal/socket", "/dev/log", "/run/screen", "/tmp/tmux-0", "/run/user"],
];

/** File systems through which the kernel is debugged, and set up. */
const KERNEL = [
  ...["/sys/kernel/debug", "/sys/kernel/tracing", "/sys/kernel/security", "/sys/firmware/efi"],
  ...[
    "/sys/fs/bpf",
    "/sys/fs/cgroup",
    "/sys/module",
    "/sys/class/net",
    "/sys/block",
    "/lib/modules",
  ],
  ...["/dev/mapper", "/dev/disk", "/dev/shm/../mem", "/dev/kvm", "/dev/fuse"],
];

const exist = (paths: readonly string[]) =>
  `return [it for it in ${JSON.stringify(paths)} if os.path.lexists(it)]`;

const BITS = { SETPCAP: 8, NET_ADMIN: 12, SYS_MODULE: 16, SYS_RAWIO: 17, SYS_PTRACE: 19 };
const MORE_BITS = {
  SYS_ADMIN: 21,
  SYS_BOOT: 22,
  SYS_TIME: 25,
  MKNOD: 27,
  DAC_READ_SEARCH: 2,
  BPF: 39,
};
const DANGEROUS = Object.values({ ...BITS, ...MORE_BITS }).filter((bit) => bit !== BITS.SETPCAP);

testAttacks([
  {
    deed: "find secrets of a host, a cloud or an orchestrator",
    python: exist(SECRETS),
    outside: cannot("hosts differ"),
    inside: "[]",
  },
  {
    deed: "find a socket of a daemon of the host",
    python: exist(SOCKETS),
    outside: cannot("hosts differ"),
    inside: "[]",
  },
  {
    deed: "find a file system of the kernel's",
    python: exist(KERNEL),
    outside: cannot("hosts differ"),
    inside: "[]",
  },
  {
    deed: "find a capability by which containers are left",
    python: `
masks = [int(line.split()[1], 16) for line in open("/proc/self/status") if line.startswith("Cap")]
return [bit for bit in ${JSON.stringify(DANGEROUS)} if any(mask >> bit & 1 for mask in masks)]`,
    outside: cannot("users differ"),
    inside: "[]",
  },
  {
    deed: "find itself without a filter, or with privileges to gain",
    python: `
wanted = ("NoNewPrivs", "Seccomp")
return [line.split()[1] for line in open("/proc/self/status") if line.split(":")[0] in wanted]`,
    outside: cannot("it may be in a sandbox itself"),
    inside: "['1', '2']",
  },
  {
    deed: "find a mount of the host's disk",
    python: `
types = {line.split(" - ")[1].split()[0] for line in open("/proc/self/mountinfo")}
return sorted(types - {"overlay", "tmpfs", "proc", "devpts", "devtmpfs"})`,
    outside: cannot("hosts differ"),
    inside: "[]",
  },
  {
    deed: "find a device of the host's disk by its number in /proc",
    python: `
names = [line.split()[3] for line in open("/proc/partitions").readlines()[2:]]
return [it for it in names if os.path.exists("/dev/" + it)]`,
    outside: cannot("hosts differ"),
    inside: "[]",
  },
  {
    deed: "find a container's shim by an abstract socket (CVE-2020-15257)",
    python: `
text = open("/proc/net/unix").read()
return [it for it in ("@/containerd-shim", "@/run", "docker", "@/tmp/dbus", ".X11-unix") if it in text]`,
    outside: cannot("hosts differ"),
    inside: "[]",
  },
  {
    deed: "reach the metadata of a cloud, a gateway or the cluster's API",
    python: `
answers = set()
for address in (("169.254.169.254", 80), ("169.254.170.2", 80), ("100.100.100.200", 80),
        ("172.17.0.1", 2375), ("10.96.0.1", 443), ("127.0.0.1", 2375), ("127.0.0.1", 10250)):
    with socket.socket() as it:
        it.settimeout(1)
        answers.add(attempt(it.connect, address))
return sorted(answers)`,
    outside: cannot("it would ask the host's network"),
    inside: "['ECONNREFUSED', 'ENETUNREACH']",
  },
  {
    deed: "see other machines in the host's tables of neighbours and routes",
    python: `
rows = [line for it in ("arp", "route") for line in open("/proc/net/" + it).readlines()[1:]]
return len(rows), [line.split(":")[0].strip() for line in open("/proc/net/dev").readlines()[2:]]`,
    outside: cannot("hosts differ"),
    inside: "(0, ['lo'])",
  },
  {
    deed: "find a token or a password in its environment",
    python: `
usual = {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LC_ALL", "HOSTNAME", "PWD",
    "TMPDIR", "PAGER", "GIT_PAGER", "GIT_EDITOR", "EDITOR", "VISUAL", "DEBIAN_FRONTEND", "LC_CTYPE"}
return sorted(it for it in os.environ if it not in usual)`,
    outside: cannot("environments differ"),
    inside: "[]",
  },
  {
    deed: "gain by a set-uid program of the host",
    python: `
found = []
for top in ("/usr/bin", "/usr/sbin"):
    for it in os.scandir(top):
        if it.is_file(follow_symlinks=False) and it.stat().st_mode & 0o6000:
            found.append(it.path)
before = [line for line in open("/proc/self/status") if line.startswith("Cap")]
for path in found[:4]:
    subprocess.run([path, "--help"], stdin=subprocess.DEVNULL, capture_output=True)
return [line for line in open("/proc/self/status") if line.startswith("NoNewPrivs")][0].split()[1]`,
    outside: cannot("it would run programs of the host's root"),
    inside: "1",
  },
  {
    deed: "gain by capabilities of a file (CVE-2018-18955's kind)",
    python: `
import shutil
path = "/usr/local/bin/minisandbox-test"
shutil.copy("${PYTHON}", path)
os.chmod(path, 0o755)
# cap_sys_admin, cap_sys_ptrace, cap_dac_read_search, effective and permitted
value = struct.pack("<5I", 0x02000001, 0x280004, 0, 0, 0)
attempt(os.setxattr, path, "security.capability", value) # EPERM where mounts are another's
show = "print([l.split()[1] for l in open('/proc/self/status') if l[:6] == 'CapEff'])"
try:
    answer = subprocess.run([path, "-c", show], capture_output=True, text=True).stdout
except PermissionError:
    return True # it is not even executed
return answer.strip() in (str(own), "")`,
    outside: cannot("it would leave such a program on the host"),
    inside: "True",
  },
  {
    deed: "write to a directory of the host's PATH, or of its libraries, so that the host sees it",
    python: `
for path in ("/usr/bin/minisandbox-test", "/usr/lib/minisandbox-test", "/etc/ld.so.preload", "/etc/minisandbox-test"):
    open(path, "w").close()`,
    outside: cannot("it would change the host"),
    inside: "ok",
    host: () =>
      ["/usr/bin/minisandbox-test", "/usr/lib/minisandbox-test", "/etc/ld.so.preload"].map(
        (path) => {
          try {
            return Deno.statSync(path).ino;
          } catch {
            return null;
          }
        },
      ),
  },
  {
    deed: "find processes, terminals or sessions of others",
    python: `
others = [it for it in os.listdir("/proc") if it.isdigit() and int(it) not in (1, os.getpid(), os.getppid())]
return others, os.path.exists("/run/utmp"), os.path.exists("/var/run/utmp")`,
    outside: cannot("hosts differ"),
    inside: "([], False, False)",
  },
]);
