/** Attacks on processes: those of the host, of neighbours, and the init of the sandbox itself. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import {
  type Attack,
  cannot,
  NAMESPACES,
  program,
  runInside,
  runOutside,
  testAttacks,
} from "../support/attack.ts";

/** A process of the host that belongs to the same user; attacks are told its id. */
const victim = new Deno.Command("sleep", { args: ["600"], stdin: "null" }).spawn();
const pid = () => String(victim.pid);
const isAlive = () => Deno.readTextFileSync(`/proc/${victim.pid}/stat`).split(" ")[2];

Deno.test.afterAll(async () => {
  victim.kill("SIGKILL");
  await victim.status;
});

const PTRACE_SEIZE = 0x4206;

const host: readonly Attack[] = [
  {
    deed: "see a process of the host",
    argument: pid,
    python: "open(f'/proc/{ARG}/comm').read()",
    inside: "ENOENT",
    host: isAlive,
  },
  {
    deed: "signal a process of the host, though of the same user",
    argument: pid,
    python: "os.kill(int(ARG), 0)",
    inside: "ESRCH",
    host: isAlive,
  },
  {
    deed: "trace a process of the host",
    argument: pid,
    python: `check(libc.ptrace(${PTRACE_SEIZE}, int(ARG), None, None))`,
    inside: "ESRCH",
    host: isAlive,
  },
  {
    deed: "read the memory of a process of the host",
    argument: pid,
    python: "opened(f'/proc/{ARG}/mem')",
    inside: "ENOENT",
    host: isAlive,
  },
  {
    deed: "read the environment or the arguments of a process of the host",
    argument: pid,
    python: "return 'sleep' in open(f'/proc/{ARG}/cmdline').read()",
    outside: "True",
    inside: "ENOENT",
    host: isAlive,
  },
  {
    deed: "open a process of the host by descriptor",
    argument: pid,
    python: "os.close(call('pidfd_open', int(ARG), 0))",
    inside: "ESRCH",
    host: isAlive,
  },
  {
    deed: "change the limits of a process of the host",
    argument: pid,
    python: "call('prlimit64', int(ARG), 7, None, ctypes.byref((ctypes.c_ulong * 2)()))",
    inside: "ESRCH",
    host: isAlive,
  },
  {
    deed: "change the priority of a process of the host",
    argument: pid,
    python: "os.setpriority(os.PRIO_PROCESS, int(ARG), 1)",
    inside: "ESRCH",
    host: () => Deno.readTextFileSync(`/proc/${victim.pid}/stat`).split(" ")[18],
    outside: cannot("it would stay so"),
  },
];
testAttacks(host);

Deno.test("a program in the sandbox cannot end any process but its own by kill(-1)", async () => {
  // Outside it would end all of this user's; in namespaces of its own it does as much.
  const code = program(`
if os.fork() == 0:
    os.setsid()
    signal.pause()
os.kill(-1, signal.SIGKILL)
return os.wait()[1]`);
  assertEquals(await runOutside(code, NAMESPACES), "9");
  assertEquals(await runInside(code), "9");
  assertEquals(isAlive(), "S");
});

Deno.test("a program in the sandbox cannot list any process but its own", async () => {
  const code = program("return sorted(int(p) for p in os.listdir('/proc') if p.isdigit())");
  assertStringIncludes(await runOutside(code), `, ${victim.pid},`);
  assertEquals(await runInside(code), "[1, 2]");
});

/** What opens on a process that one may trace, and on init must not. */
const OF_A_CHILD = [
  "root",
  "cwd",
  "exe",
  "fd/0",
  "fdinfo/0",
  "mem",
  "environ",
  "ns/mnt",
  "ns/user",
];

Deno.test(`a program in the sandbox cannot reach /proc/1/{${OF_A_CHILD.join(",")}}`, async () => {
  const code = program(`
child = os.fork()
if child == 0:
    signal.pause()
def reach(path):
    os.listdir(path) if os.path.isdir(path) else opened(path)
answers = []
for target in (child, 1):
    answers.append({attempt(reach, f"/proc/{target}/{it}") for it in ${JSON.stringify(OF_A_CHILD)}})
os.kill(child, 9)
return answers`);
  assertEquals(await runInside(code), "[{'ok'}, {'EACCES'}]");
});

const init: readonly Attack[] = [
  {
    deed: "trace init",
    python: `check(libc.ptrace(${PTRACE_SEIZE}, 1, None, None))`,
    outside: cannot("it is shown below on a process of its own"),
    inside: "EPERM",
  },
  {
    deed: "write the memory of init",
    python: "opened('/proc/1/mem', os.O_RDWR)",
    outside: cannot("it is shown below on a process of its own"),
    inside: "EACCES",
  },
  {
    deed: "take a descriptor of init by pidfd_getfd",
    python: "call(438, call('pidfd_open', 1, 0), 0, 0)",
    outside: cannot("it is shown below on a process of its own"),
    inside: "EPERM",
  },
  {
    deed: "open the socket that tells init of its owner",
    python: "opened('/proc/1/fd/0', os.O_RDWR)",
    outside: cannot("it is shown below on a process of its own"),
    inside: "EACCES",
  },
  {
    deed: "read the memory of init by process_vm_readv",
    python: `
space = ctypes.create_string_buffer(8)
local = (ctypes.c_ulong * 2)(ctypes.addressof(space), 8)
remote = (ctypes.c_ulong * 2)(0x400000, 8)
check(libc.process_vm_readv(1, local, ctypes.c_ulong(1), remote, ctypes.c_ulong(1), ctypes.c_ulong(0)))`,
    outside: cannot("it is shown below on a process of its own"),
    inside: "EPERM",
  },
  {
    deed: "stop or end init",
    python: `
for number in range(1, 65):
    if number not in (32, 33):
        os.kill(1, number)
return open("/proc/1/stat").read().split(" ")[2]`,
    outside: cannot("it is shown below on a process of its own"),
    inside: "S",
  },
];
testAttacks(init);

Deno.test("the attacks on init work on a process of one's own", async () => {
  const code = program(`
child = os.fork()
if child == 0:
    signal.pause()
results = [attempt(opened, f"/proc/{child}/mem", os.O_RDWR)]
results.append(attempt(lambda: check(libc.ptrace(${PTRACE_SEIZE}, child, None, None))))
os.kill(child, 9)
return results`);
  assertEquals(await runInside(code), "['ok', 'ok']");
});
