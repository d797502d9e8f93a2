/** Attacks on mounts and namespaces: every way to mount, to move, to leave, and to make more. */
import { assertEquals, assertMatch } from "@std/assert";
import {
  type Attack,
  cannot,
  NAMESPACES,
  program,
  runInside,
  runOutside,
  testAttacks,
} from "../support/attack.ts";
import { tempDir } from "../support/temp_dir.ts";

/** Outside, each of these works in namespaces of an ordinary user's own. */
function inNamespaces(attacks: readonly Omit<Attack, "under" | "inside">[]): Attack[] {
  return attacks.map((it) => ({ ...it, under: NAMESPACES, inside: "EPERM" }));
}

testAttacks(inNamespaces([
  { deed: "mount a tmpfs", python: "call('mount', 'none', '/mnt', 'tmpfs', 0, None)" },
  { deed: "mount a proc", python: "call('mount', 'none', '/mnt', 'proc', 0, None)" },
  { deed: "bind a directory", python: "call('mount', '/usr', '/mnt', None, 4096, None)" },
  { deed: "make its mounts shared", python: "call('mount', None, '/', None, 1 << 20, None)" },
  {
    deed: "move a mount",
    python: `
attempt(call, 'mount', 'none', '/mnt', 'tmpfs', 0, None)
call('mount', '/mnt', '/srv', None, 8192, None)`,
  },
  {
    deed: "make a read-only mount writable",
    python: `
attempt(call, 'mount', '/proc/sys', '/proc/sys', None, 4096, None)
call('mount', None, '/proc/sys', None, 32 | 4096, None)`,
  },
  {
    deed: "unmount what covers a part of /proc",
    python: `
attempt(call, 'mount', 'none', '/proc/sys', 'tmpfs', 0, None)
call('umount2', '/proc/sys', 2)`,
  },
  {
    deed: "change its root by pivot_root",
    python: `
attempt(call, 'mount', 'none', '/mnt', 'tmpfs', 0, None)
attempt(os.mkdir, '/mnt/old')
call('pivot_root', '/mnt', '/mnt/old')`,
  },
  { deed: "copy a tree by open_tree", python: "call('open_tree', -100, '/usr', 1)" },
  { deed: "open a file system by fsopen", python: "call('fsopen', 'tmpfs', 0)" },
  { deed: "open a mounted file system by fspick", python: "call('fspick', -100, '/', 0)" },
  {
    deed: "move a tree by move_mount",
    python: `
try:
    call('mount', 'none', '/mnt', 'tmpfs', 0, None)
except OSError:
    pass
call('move_mount', -100, '/mnt', -100, '/srv', 0)`,
  },
  {
    deed: "change the attributes of a mount by mount_setattr",
    python: "call('mount_setattr', -100, '/proc', 0, struct.pack('QQQQ', 2, 0, 0, 0), 32)",
  },
  {
    deed: "enter a namespace by descriptor",
    python: "call('setns', os.open('/proc/self/ns/uts', 0), 0)",
  },
  {
    deed: "enter a process's namespaces",
    python: "call('setns', call('pidfd_open', os.getpid(), 0), 0x04000000)",
  },
  { deed: "set the hostname", python: "call('sethostname', 'evil', 4)" },
  { deed: "set the domain name", python: "call('setdomainname', 'evil', 4)" },
]));

const KINDS = {
  mount: 0x00020000,
  cgroup: 0x02000000,
  uts: 0x04000000,
  ipc: 0x08000000,
  user: 0x10000000,
  pid: 0x20000000,
  network: 0x40000000,
  time: 0x80,
};

testAttacks(inNamespaces(
  Object.entries(KINDS).map(([kind, flag]) => ({
    deed: `make a ${kind} namespace by unshare`,
    python: `call('unshare', ${flag})`,
  })),
));

testAttacks(inNamespaces(
  Object.entries(KINDS).filter(([kind]) => kind !== "time").map(([kind, flag]) => ({
    deed: `make a ${kind} namespace by clone`,
    python: `
pid = call('clone', ${flag} | 17, 0, 0, 0, 0)
if pid == 0:
    os._exit(0)
os.waitpid(pid, 0)`,
  })),
));

testAttacks([
  {
    deed: "make a user namespace by clone3, whose flags no filter sees",
    under: NAMESPACES,
    python: `
pid = call('clone3', struct.pack('8Q', 0x10000000, 0, 0, 0, 17, 0, 0, 0), 64)
if pid == 0:
    os._exit(0)
os.waitpid(pid, 0)`,
    inside: "ENOSYS",
  },
  {
    deed: "make a mount by open_tree_attr",
    outside: cannot("newer than many kernels"),
    python: "call('open_tree_attr', -100, '/usr', 1, None, 0)",
    inside: "EPERM",
  },
  {
    deed: "find a control group to set a release agent in (CVE-2022-0492)",
    outside: cannot("it would change the host"),
    python: "return [line for line in open('/proc/self/mounts') if ' cgroup' in line]",
    inside: "[]",
  },
]);

Deno.test("a program in the sandbox cannot escape by chroot and an open directory", async () => {
  using temp = tempDir();
  Deno.writeTextFileSync(`${temp.path}/canary`, "");
  Deno.mkdirSync(`${temp.path}/jail/x`, { recursive: true });
  // Outside, the attacker first goes to jail.
  const code = program(
    `
canary = ARG + "/canary"
if os.path.exists(canary):
    os.chroot(ARG + "/jail")
    os.chdir("/")
os.makedirs("/x", exist_ok=True)
top = os.open("/", os.O_RDONLY)
os.chroot("/x")
os.fchdir(top)
for _ in range(100):
    os.chdir("..")
os.chroot(".")
return os.path.exists(canary), sorted(os.listdir("/")) == sorted(os.listdir("/proc/self/root"))`,
    temp.path,
  );
  assertEquals((await runOutside(code, NAMESPACES)).slice(0, 5), "(True");
  assertEquals(await runInside(code), "(False, True)");
});

Deno.test("a program in the sandbox cannot leave its root by the working directory of a chroot", async () => {
  const code = program(`
inode = os.stat("/").st_ino
os.mkdir("/srv/x")
os.chroot("/srv/x")
seen = set()
for _ in range(100):
    os.chdir("..")
    seen.add(os.stat(".").st_ino)
return inode in seen, os.path.exists("u"), os.path.exists("t"), os.path.exists("l")`);
  assertEquals(await runInside(code), "(True, False, False, False)");
});

Deno.test("a program in the sandbox cannot see the trees it is made of", async () => {
  const code = program(`
wrong = [path for path in ("/u", "/l", "/t", "/m", "/old_root") if os.path.lexists(path)]
for line in open("/proc/self/mountinfo"):
    if line.split()[4] in ("/u", "/l", "/t", "/m"):
        wrong.append(line)
return wrong`);
  assertEquals(await runInside(code), "[]");
});

Deno.test("a program that may mount in namespaces of its own cannot uncover what its root lies over", async () => {
  using temp = tempDir();
  Deno.writeTextFileSync(`${temp.path}/canary`, "");
  // Outside, the host's root is first covered as a sandbox's is, in one's own namespaces.
  const code = program(
    `
MOVE, DETACH, NEWNS, NEWUSER = 8192, 2, 0x20000, 0x10000000
is_outside = os.path.exists(ARG)
if not is_outside:
    call("unshare", NEWUSER | NEWNS)
    for file, text in (("setgroups", "deny"), ("uid_map", "0 0 1"), ("gid_map", "0 0 1")):
        open("/proc/self/" + file, "w").write(text)
own = os.open("/proc/self/ns/mnt", os.O_RDONLY)
if is_outside:
    call("mount", "x", "/mnt", "tmpfs", 0, None)
    os.chdir("/mnt")
    call("mount", ".", "/", None, MOVE, None)
    os.chroot(".")
    assert not os.path.exists(ARG)
def turn():
    os.makedirs("/tmp/new", exist_ok=True)
    call("mount", "x", "/tmp/new", "tmpfs", 0, None)
    os.mkdir("/tmp/new/old")
    call("pivot_root", "/tmp/new", "/tmp/new/old")
deeds = [
    lambda: call("umount2", "/", DETACH), lambda: call("umount2", "/", 0),
    lambda: call("setns", own, NEWNS), turn, lambda: call("umount2", "/old", DETACH),
    lambda: call("umount2", "/", DETACH), lambda: call("setns", own, NEWNS),
]
answers = []
for deed in deeds:
    answers.append(attempt(deed))
    if os.path.exists(ARG) or os.path.exists("/old" + ARG):
        return "uncovered"
return " ".join(answers)`,
    `${temp.path}/canary`,
  );
  assertEquals(await runOutside(code, NAMESPACES), "uncovered");
  // Docker's filter refuses pivot_root to all.
  assertMatch(
    await runInside(code, ["--allow-nesting"]),
    /^EINVAL EINVAL ok (?:ok ok|EPERM ENOENT) EINVAL ok$/,
  );
});
