/** Attacks by signals, and by calls that act on a process by its id: each way to name one outside. */
import { assertEquals } from "@std/assert";
import {
  type Attack,
  cannot,
  program,
  runInside,
  runOutside,
  testAttacks,
} from "../support/attack.ts";
import { start } from "../support/minisandbox.ts";
import { readUntil } from "../support/read_until.ts";

/** A process of the host, of the same user, whose id the attacks are told. */
const victim = new Deno.Command("sleep", { args: ["600"], stdin: "null" }).spawn();
const pid = () => String(victim.pid);

/** Its state, priority and scheduling policy, and its processors. */
const attributes = () => {
  const stat = Deno.readTextFileSync(`/proc/${victim.pid}/stat`).split(" ");
  const status = Deno.readTextFileSync(`/proc/${victim.pid}/status`);
  return [stat[2], stat[17], stat[18], stat[40], /Cpus_allowed_list:.*/.exec(status)?.[0]];
};

Deno.test.afterAll(async () => {
  victim.kill("SIGKILL");
  await victim.status;
});

/** Each works outside with what changes nothing: signal 0, or the value that is there already. */
const byId: readonly Omit<Attack, "inside">[] = [
  { deed: "send a signal to a thread of the host", python: "check(libc.tgkill(pid, pid, 0))" },
  {
    deed: "queue a signal with a value to a process of the host",
    python: "check(libc.sigqueue(pid, 0, None))",
  },
  {
    deed: "send a signal to a group of the host",
    python: "os.killpg(os.getpgid(pid), 0)",
  },
  { deed: "ask for the session of a process of the host", python: "os.getsid(pid)" },
  {
    deed: "set the processors of a process of the host",
    python: "os.sched_setaffinity(pid, os.sched_getaffinity(pid))",
  },
  {
    deed: "set the scheduling of a process of the host",
    python: "os.sched_setscheduler(pid, os.SCHED_OTHER, os.sched_param(0))",
  },
  { deed: "read the limits of a process of the host", python: "resource.prlimit(pid, 7)" },
  {
    deed: "find the clock of a process of the host",
    python: "time.clock_gettime((~pid) << 3 | 2)",
  },
  {
    deed: "read a process of the host by process_vm_readv",
    outside: cannot("a setting decides"),
    python: `
space = ctypes.create_string_buffer(8)
local = (ctypes.c_ulong * 2)(ctypes.addressof(space), 8)
remote = (ctypes.c_ulong * 2)(0x1000, 8)
one, none = ctypes.c_ulong(1), ctypes.c_ulong(0)
check(libc.process_vm_readv(pid, local, one, remote, one, none))`,
  },
  {
    deed: "let a process of the host trace it",
    python: "check(libc.prctl(0x59616d61, pid, 0, 0, 0))",
    outside: cannot("a setting decides"),
  },
];

testAttacks(byId.map((it) => ({
  ...it,
  argument: pid,
  host: attributes,
  python: `import resource
pid = int(ARG)
def deed():
${it.python.trim().split("\n").map((line) => `    ${line}`).join("\n")}
answer = attempt(deed)
return "no such process" if answer in ("ESRCH", "EINVAL") else answer`,
  inside: "no such process",
})));

testAttacks([
  {
    deed: "have a signal sent to a process of the host by a descriptor that it shares",
    argument: pid,
    host: attributes,
    python: `
reader, writer = os.pipe()
fcntl.fcntl(reader, fcntl.F_SETOWN, int(ARG))
return fcntl.fcntl(reader, fcntl.F_GETOWN) == int(ARG)`,
    outside: "True",
    inside: "ESRCH",
  },
  {
    deed: "put a process of the host into a group of its own",
    argument: pid,
    python: "os.setpgid(int(ARG), 0)",
    outside: cannot("it is no child of the attack's"),
    inside: "ESRCH",
  },
  {
    deed: "join a group of the host",
    argument: pid,
    python: "os.setpgid(0, int(ARG))",
    outside: cannot("it is of another session"),
    inside: "EPERM",
  },
]);

Deno.test("a program in the sandbox cannot send any signal to a process of the host, or to its group", async () => {
  const code = program(
    `
found = set()
for number in range(1, 65):
    if number in (32, 33):
        continue
    found.add(attempt(os.kill, int(ARG), number))
    found.add(attempt(os.kill, -int(ARG), number))
return found`,
    pid(),
  );
  assertEquals(await runInside(code), "{'ESRCH'}");
  assertEquals(attributes()[0], "S");
});

Deno.test("a program in the sandbox cannot see how its own and the host's ids are related", async () => {
  const code = program(`
rows = [line for line in open("/proc/self/status") if line.startswith(("NSpid", "NStgid", "PPid"))]
return sorted(line.split()[1] for line in rows), all(len(line.split()) == 2 for line in rows)`);
  assertEquals(await runInside(code), "(['0', '2', '2'], True)");
});

Deno.test("a program in the sandbox cannot signal or trace a process of another sandbox", async () => {
  const ready = program("print('ready', flush=True)\nsys.stdin.read()");
  const neighbour = start(["run", "--quiet", "-i", "--", "python3", "-c", ready]);
  const reader = neighbour.stdout.getReader();
  try {
    await readUntil(reader, "ready\n");
    // Every id that is not its own: the neighbour has the same ones, in another namespace.
    const code = program(`
own = {os.getpid()}
answers = set()
for pid in range(2, 300):
    if pid not in own:
        answers.add(attempt(os.kill, pid, 9))
        answers.add(attempt(opened, f"/proc/{pid}/mem"))
return sorted(answers)`);
    assertEquals(await runInside(code), "['ENOENT', 'ESRCH']");
    // It is there, with the id that every first program has.
    const seen = await runOutside(
      program(`return os.path.exists(f"/proc/{ARG}")`, String(neighbour.pid)),
    );
    assertEquals(seen, "True");
  } finally {
    await neighbour.stdin.close();
    for (;;) if ((await reader.read()).done) break;
    const [{ code }] = await Promise.all([neighbour.status, neighbour.stderr.cancel()]);
    assertEquals(code, 0);
  }
});
