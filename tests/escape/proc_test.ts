/** Attacks on /proc and what covers it: each entry of init, of the process itself, and of the host. */
import { assertEquals } from "@std/assert";
import { cannot, NAMESPACES, program, runInside, testAttacks } from "../support/attack.ts";
import { minisandbox } from "../support/minisandbox.ts";
import { tar } from "../support/tar.ts";
import { tempDir } from "../support/temp_dir.ts";
import { describeTree } from "../support/tree.ts";

/** What opens on a child of one's own, and tells or changes something; on init it must not. */
const ENTRIES = [
  ...["maps", "smaps", "numa_maps", "map_files", "auxv", "pagemap", "personality", "io"],
  ...["syscall", "timers", "task/TID/environ", "task/TID/fd/0", "task/TID/root"],
  ...["ns/pid", "ns/net", "ns/ipc", "ns/uts", "ns/cgroup"],
];

Deno.test(`a program in the sandbox cannot read or list /proc/1/{${ENTRIES.join(",")}}`, async () => {
  const code = program(`
child = os.fork()
if child == 0:
    signal.pause()
def reach(pid, entry):
    path = f"/proc/{pid}/" + entry.replace("TID", str(pid))
    if os.path.isdir(path):
        os.listdir(path)
    elif "/ns/" in path:
        opened(path)
    else:
        with open(path, "rb", buffering=0) as it:
            it.read(16)
wrong = []
for it in ${JSON.stringify(ENTRIES)}:
    own, init = attempt(reach, child, it), attempt(reach, 1, it)
    if own not in ("ok", "ENOENT") or init not in ("EACCES", "EPERM", "ENOENT"):
        wrong.append((it, own, init))
os.kill(child, 9)
return wrong`);
  assertEquals(await runInside(code), "[]");
});

/** Attributes of its own init that root inside may change: at most it ends its own sandbox. */
const HARMLESS = ["sched", "autogroup", "oom_adj", "oom_score_adj", "coredump_filter"];

Deno.test("a program in the sandbox cannot write to a file of init's in /proc that would keep it alive", async () => {
  const code = program(`
def files(top):
    for name in os.listdir(top):
        path = f"{top}/{name}"
        if name in ("task", "root", "cwd", "exe", "map_files", "fd"):
            continue
        if os.path.isdir(path) and not os.path.islink(path):
            try:
                yield from files(path)
            except PermissionError:
                pass
        else:
            yield path
def write(path):
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, b"0")
    finally:
        os.close(fd)
wrong = []
own = 0
for path in files("/proc/1"):
    own += attempt(opened, path.replace("/1/", "/self/", 1), os.O_WRONLY) == "ok"
    if attempt(write, path) == "ok" and path[8:] not in ${JSON.stringify(HARMLESS)}:
        wrong.append(path)
return wrong, own > 3`);
  assertEquals(await runInside(code), "([], True)");
});

/** Writes text to a file by one call, as files of /proc want it. */
const WRITE = `
def write(path, text):
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)`;

testAttacks([
  {
    deed: "map other ids into its user namespace",
    python: `${WRITE}
return sorted({attempt(write, f"/proc/self/{it}_map", f"0 {os.getuid()} 1") for it in ("uid", "gid")})`,
    outside: cannot("it is for the process above to do, once"),
    inside: "['EPERM']",
  },
  {
    deed: "set the clocks of a time namespace",
    under: ["unshare", "-UrT"],
    python: `${WRITE}
check(libc.unshare(0x80))
write("/proc/self/timens_offsets", "monotonic 1000 0")`,
    inside: "EPERM",
  },
  {
    deed: "run a program of the host by a release agent (CVE-2022-0492)",
    under: NAMESPACES,
    python: `
check(libc.unshare(0x02000000))
call("mount", "none", "/mnt", "cgroup2", 0, None)
return os.path.exists("/mnt/cgroup.procs")`,
    outside: "True",
    inside: "EPERM",
  },
  {
    deed: "run a program of the host by binfmt_misc, core_pattern, modprobe or uevent_helper",
    outside: cannot("it would change the host"),
    python: `
paths = ["/proc/sys/fs/binfmt_misc/register", "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/modprobe", "/proc/sys/kernel/poweroff_cmd", "/sys/kernel/uevent_helper",
    "/sys/fs/cgroup/release_agent", "/sys/fs/cgroup/notify_on_release"]
return sorted({attempt(opened, it, os.O_WRONLY) for it in paths} - {"ENOENT", "EROFS", "EACCES"})`,
    inside: "[]",
    host: () => Deno.readTextFileSync("/proc/sys/kernel/core_pattern"),
  },
]);

Deno.test("a root that has links where /proc, /dev and others belong cannot lead their mounts away (CVE-2025-31133, CVE-2025-52565, CVE-2025-52881)", async () => {
  using temp = tempDir();
  Deno.mkdirSync(`${temp.path}/outside`);
  const before = describeTree(temp.path);
  const archive = `${temp.path}.tar`;
  const run = async (name: string, target: string) => {
    Deno.writeFileSync(archive, tar({ name, type: "2", target }));
    const { code, stderr } = await minisandbox(["run", "--from", archive, "--", "/bin/true"]);
    return [code, /: (E[A-Z]+) \(/.exec(stderr)?.[1]];
  };
  const targets = [`${temp.path}/outside`, "/proc/self/fd/3", "/u/upper", "/t/dev", "usr"];
  try {
    assertEquals(await run("srv", "usr"), [0, undefined]); // where nothing of ours is mounted
    for (const [i, name] of ["proc", "dev", "tmp", "run"].entries()) {
      for (const target of i === 0 ? targets : targets.slice(i, i + 1)) {
        assertEquals(await run(name, target), [125, "ELOOP"]);
      }
    }
  } finally {
    Deno.removeSync(archive);
  }
  assertEquals(describeTree(temp.path), before);
});
