/** Attacks on what a process may do: capabilities, set-uid programs, devices, /proc/sys. */
import { assertEquals } from "@std/assert";
import { CAP } from "../../ffi/mod.ts";
import { CAPABILITIES } from "../../src/sandbox/mod.ts";
import {
  cannot,
  NAMESPACES,
  program,
  runInside,
  runOutside,
  testAttacks,
} from "../support/attack.ts";
import { identity, onlyAs } from "../support/identity.ts";

const forRoot = Deno.uid() === 0 ? "ok" : cannot("only root may");
const KEPT = CAPABILITIES.reduce((sum, name) => sum | 1n << BigInt(CAP[name]), 0n);
const hex = (mask: bigint) => mask.toString(16).padStart(16, "0");

/** What a process is bound to, as /proc tells. */
const bounds = (pid: string) =>
  program(`
names = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp")
lines = dict(line.rstrip("\\n").split(":\\t", 1) for line in open("/proc/${pid}/status") if ":\\t" in line)
return " ".join(lines[it] for it in names)`);

Deno.test("a program in the sandbox cannot have a capability but those that it is said to hold", async () => {
  const [none, kept] = [hex(0n), hex(KEPT)];
  assertEquals(await runInside(bounds("self")), `${none} ${kept} ${kept} ${kept} ${none} 1 2`);
});

Deno.test("a program in the sandbox cannot find a capability in init but the one it hides by", async () => {
  const none = hex(0n);
  const kept = identity() === "none" ? hex(1n << BigInt(CAP.CAP_SYS_PTRACE)) : none;
  assertEquals(await runInside(bounds("1")), `${none} ${kept} ${kept} ${kept} ${none} 1 2`);
});

Deno.test("a program in the sandbox cannot have a capability as an ordinary user", async () => {
  const [none, kept] = [hex(0n), hex(KEPT)];
  const answer = await runInside(bounds("self"), ["--user", "1000"]);
  assertEquals(answer, `${none} ${none} ${none} ${kept} ${none} 1 2`);
});

testAttacks([
  {
    deed: "raise a capability that it was not left",
    under: NAMESPACES,
    python: `
header = struct.pack('Ii', 0x20080522, 0)
data = bytearray(24)
check(libc.capget(header, (ctypes.c_char * 24).from_buffer(data)))
effective, permitted, inheritable = struct.unpack_from('III', data)
sys_admin = 1 << 21
struct.pack_into('III', data, 0, effective | sys_admin, permitted | sys_admin, inheritable)
check(libc.capset(header, bytes(data)))`,
    inside: "EPERM",
  },
  {
    deed: "unset no_new_privs",
    outside: cannot("nobody can"),
    python: "check(libc.prctl(38, 0, 0, 0, 0))",
    inside: "EINVAL",
  },
  {
    deed: "take its filter off",
    outside: cannot("nobody can"),
    python: "check(libc.prctl(22, 0, 0, 0, 0))",
    inside: "EINVAL",
  },
  {
    deed: "make a block device",
    outside: forRoot,
    python: `
path = f"/tmp/minisandbox-test-{os.getpid()}"
os.mknod(path, 0o060600, os.makedev(7, 0))
os.unlink(path)`,
    inside: "EPERM",
  },
  {
    deed: "make a character device",
    outside: forRoot,
    python: `
path = f"/tmp/minisandbox-test-{os.getpid()}"
os.mknod(path, 0o020600, os.makedev(1, 1))
os.unlink(path)`,
    inside: "EPERM",
  },
  {
    deed: "take a nicer priority than it has",
    outside: forRoot,
    python: "os.setpriority(os.PRIO_PROCESS, 0, -5)",
    inside: "EACCES",
  },
  {
    deed: "reach ports of the machine",
    outside: cannot("it would change the host"),
    python: `
answer = attempt(lambda: check(libc.iopl(3))) if platform.machine() == "x86_64" else "ENOSYS"
return "refused" if answer in ("EPERM", "ENOSYS") else answer`,
    inside: "refused",
  },
  {
    deed: "change the mode of a device, which is the host's",
    outside: cannot("it would change the host"),
    python: "return [attempt(os.chmod, f'/dev/{it}', 0o600) for it in ('null', 'zero', 'tty')]",
    inside: "['EROFS', 'EROFS', 'EROFS']",
    host: () => Deno.statSync("/dev/null").mode,
  },
  {
    deed: "make a file in /dev, or remove one",
    outside: cannot("it would change the host"),
    python: "return [attempt(os.mkdir, '/dev/x'), attempt(os.unlink, '/dev/ptmx')]",
    inside: "['EROFS', 'EROFS']",
  },
  {
    deed: "find a device but the harmless ones",
    outside: cannot("hosts differ"),
    python: "return ' '.join(sorted(os.listdir('/dev')))",
    inside: "fd full null ptmx pts random shm stderr stdin stdout tty urandom zero",
  },
]);

/** Settings of the host that would run a program, or change it for all. */
const SETTINGS = [
  ...["kernel/core_pattern", "kernel/modprobe", "kernel/hotplug", "kernel/hostname"],
  ...["kernel/shmmax", "vm/overcommit_memory", "fs/file-max"],
  ...["net/ipv4/ip_forward", "fs/binfmt_misc/register", "user/max_user_namespaces"],
];

Deno.test("a program in the sandbox cannot write to /proc/sys", async () => {
  const code = program(`
answers = set(attempt(opened, f"/proc/sys/{it}", os.O_WRONLY) for it in ${JSON.stringify(SETTINGS)})
return sorted(answers - {"ENOENT", "EACCES", "EROFS"}), "ENOENT" in answers and len(answers) == 1`);
  const before = SETTINGS.map(read);
  assertEquals(await runInside(code), "([], False)");
  assertEquals(SETTINGS.map(read), before);
});

Deno.test("a program in the sandbox cannot read or use what /proc tells of the whole host", async () => {
  const hidden = [
    ...["acpi", "asound", "bus", "fs", "irq", "scsi", "kcore", "keys", "key-users", "kmsg"],
    ...["kpagecount", "kpageflags", "latency_stats", "sched_debug", "sysrq-trigger", "timer_list"],
  ];
  const code = program(`
wrong = []
for name in ${JSON.stringify(hidden)}:
    path = "/proc/" + name
    if not os.path.exists(path):
        continue
    status = os.stat(path)
    isEmpty = os.path.isdir(path) and os.listdir(path) == []
    if not isEmpty and status.st_rdev != os.makedev(1, 3):
        wrong.append(name)
return wrong`);
  // Without the covers most of them tell something.
  assertEquals((await runOutside(code)).length > 2, true);
  assertEquals(await runInside(code), "[]");
});

Deno.test({
  name: "a program in the sandbox cannot become root by a set-uid program",
  ...onlyAs("root", "subordinate"), // else there is one id
  fn: async () => {
    const code = program(
      `
import shutil
path = f"{ARG}/minisandbox-test-{os.getpid()}"
shutil.copy("/usr/bin/id", path)
os.chmod(path, 0o4755)
reader, writer = os.pipe()
if os.fork() == 0:
    os.setgroups([])
    os.setresgid(1000, 1000, 1000)
    os.setresuid(1000, 1000, 1000)
    os.dup2(writer, 1)
    os.execv(path, [path, "-u"])
os.close(writer)
answer = os.read(reader, 10).decode().strip()
os.unlink(path)
return answer`,
      "/usr/local/bin",
    );
    if (forRoot === "ok") assertEquals(await runOutside(code), "0");
    assertEquals(await runInside(code), "1000");
  },
});

function read(setting: string): string {
  try {
    return Deno.readTextFileSync(`/proc/sys/${setting}`);
  } catch {
    return "";
  }
}
