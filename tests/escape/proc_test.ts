/** Attacks on /proc and what covers it: each entry of init, of the process itself, and of the host. */
import { assertEquals } from "@std/assert";
import { type Attack, NAMESPACES, program, runInside, testAttacks } from "../support/attack.ts";
import { minisandbox, sharedStore } from "../support/minisandbox.ts";
import { tar } from "../support/tar.ts";
import { tempDir } from "../support/temp_dir.ts";
import { describeTree } from "../support/tree.ts";

/** What opens on a child of one's own, and tells or changes something; on init it must not. */
const ENTRIES = [
  ...["maps", "smaps", "numa_maps", "map_files", "auxv", "pagemap", "personality", "io", "stack"],
  ...["syscall", "mounts", "mountinfo", "mountstats", "timers", "timerslack_ns", "task/TID/mem"],
  ...["task/TID/fd", "task/TID/root", "ns/pid", "ns/net", "ns/ipc", "ns/uts", "ns/cgroup"],
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
    else:
        with open(path, "rb", buffering=0) as it:
            it.read(16)
wrong = []
for it in ${JSON.stringify(ENTRIES)}:
    own, init = attempt(reach, child, it), attempt(reach, 1, it)
    if own in ("ENOENT", "EPERM") or it in ("mounts", "mountinfo", "mountstats") and init == "ok":
        continue
    if own != "ok" or init not in ("EACCES", "EPERM"):
        wrong.append((it, own, init))
os.kill(child, 9)
return wrong`);
  assertEquals(await runInside(code), "[]");
});

Deno.test("a program in the sandbox cannot write to a file of init's in /proc", async () => {
  const code = program(`
wrong = []
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
own = 0
for path in files("/proc/1"):
    answer = attempt(write, path)
    own += attempt(opened, path.replace("/1/", "/self/", 1), os.O_WRONLY) == "ok"
    if answer == "ok":
        wrong.append(path)
return wrong, own > 3`);
  assertEquals(await runInside(code), "([], True)");
});

testAttacks(
  [
    {
      deed: "map other ids into its user namespace",
      under: ["unshare", "-U"],
      python: `
def write(name, text):
    fd = os.open("/proc/self/" + name, os.O_WRONLY)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)
if "ARG" == ARG:
    pass
return [attempt(write, "setgroups", "allow" if os.path.exists("/proc/self/x") else "deny"),
    attempt(write, "uid_map", f"0 {os.getuid()} 1")]`,
      outside: null, // it is for the process above to do
      inside: "['EPERM', 'EPERM']",
    },
    {
      deed: "set the offsets of its clocks",
      under: NAMESPACES,
      outside: null, // only before a process has entered a time namespace
      python: `
fd = os.open("/proc/self/timens_offsets", os.O_WRONLY)
os.write(fd, b"monotonic 1000 0")`,
      inside: "EACCES",
    },
  ] as const,
);

/** Where a fault of /proc or of a mount would lead; each as a link that lies in the root. */
const PLACES = ["proc", "dev", "sys", "tmp", "run", "etc"];

Deno.test("a root that has links where /proc, /dev and others belong cannot lead their mounts away (CVE-2025-31133, CVE-2025-52565, CVE-2025-52881)", async () => {
  using temp = tempDir();
  Deno.mkdirSync(`${temp.path}/outside`);
  const targets = [
    `${temp.path}/outside`,
    "../../../../../../../../../../../../tmp",
    "/proc/self/fd/3",
    "/proc/1/root",
    "/l/0",
    "/u/upper",
    "/t/dev",
    "/",
    "usr",
  ];
  const before = describeTree(temp.path);
  const codes = new Set<number>();
  for (const target of targets) {
    const archive = `${sharedStore()}.${targets.indexOf(target)}.tar`;
    const links = PLACES.map((name) => ({ name, type: "2", target }));
    Deno.writeFileSync(archive, tar(...links));
    try {
      const look = "ls /proc/self/root >/dev/null; cat /proc/sys/kernel/core_pattern; " +
        "echo evil >/proc/sys/kernel/core_pattern; echo evil >/dev/x; echo evil >/sys/x; exit 0";
      const { code } = await minisandbox([
        ...["run", "--quiet", "--from", archive, "--", "bash", "-c", look],
      ]);
      codes.add(code);
    } finally {
      Deno.removeSync(archive);
    }
  }
  assertEquals(describeTree(temp.path), before);
  assertEquals([...codes], []);
});
