/** Attacks by what is shared without being a file's content: locks, leases, watches, dumps, names. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { cannot, program, PYTHON, runInside, runOutside, testAttacks } from "../support/attack.ts";
import { bash, minisandbox, start } from "../support/minisandbox.ts";
import { readUntil } from "../support/read_until.ts";
import { tar } from "../support/tar.ts";
import { tempDir } from "../support/temp_dir.ts";

/** Takes every lock there is on a file, watches it, and waits for its stdin; then says what it saw. */
const HOLD = program(
  `
path, mode = ARG.split("|")
watch = check(libc.inotify_init1(os.O_NONBLOCK))
check(libc.inotify_add_watch(watch, path.encode(), 0xfff))
check(libc.inotify_add_watch(watch, os.path.dirname(path).encode(), 0xfff))
fds = [os.open(path, os.O_RDWR if mode == "rw" else os.O_RDONLY) for _ in range(3)]
fcntl.flock(fds[0], fcntl.LOCK_EX)
kind = fcntl.F_WRLCK if mode == "rw" else fcntl.F_RDLCK
attempt(fcntl.fcntl, fds[1], fcntl.F_SETLK, struct.pack("hhqqi4x", kind, 0, 0, 0, 0))
attempt(fcntl.fcntl, fds[2], 37, struct.pack("hhqqi4x", kind, 0, 0, 0, 0))
lease = attempt(fcntl.fcntl, fds[2], 1024, fcntl.F_RDLCK)
attempt(os.read, watch, 65536)
print("ready", flush=True)
sys.stdin.read()
return len(os.read(watch, 65536)) if attempt(os.read, watch, 0) != "EAGAIN" else 0`,
  "FILE",
);

/** Tries the same locks without waiting, and reads and writes the file. */
const TRY = (path: string) =>
  program(
    `
fd = os.open(ARG, os.O_RDONLY)
results = [attempt(fcntl.flock, fd, fcntl.LOCK_EX | fcntl.LOCK_NB)]
other = os.open(ARG, os.O_RDONLY)
for command in (fcntl.F_SETLK, 37):
    results.append(attempt(fcntl.fcntl, other, command, struct.pack("hhqqi4x", fcntl.F_RDLCK, 0, 0, 0, 0)))
os.pread(fd, 4, 0)
os.listdir(os.path.dirname(ARG))
return results`,
    path,
  );

const FREE = "['ok', 'ok', 'ok']";

/** Runs the holder, and something meanwhile; gives how many bytes of events it saw. */
async function whileHeld(
  child: Deno.ChildProcess,
  deed: () => Promise<void>,
): Promise<string> {
  const reader = child.stdout.getReader();
  await readUntil(reader, "ready\n");
  try {
    await deed();
  } finally {
    await child.stdin.close();
  }
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    text += decoder.decode(value);
  }
  await Promise.all([child.status, child.stderr.cancel()]);
  return text;
}

const hold = (path: string, mode: string) => HOLD.replace("FILE", `${path}|${mode}`);

const startInside = (path: string, args: readonly string[] = []) =>
  start(["run", "--quiet", "-i", ...args, "--", PYTHON, "-c", hold(path, "ro")]);

Deno.test("a program in the sandbox cannot lock or watch a file of the host's /usr", async () => {
  const path = "/usr/bin/env";
  const seen = await whileHeld(startInside(path), async () => {
    assertEquals(await runOutside(TRY(path)), FREE);
  });
  assertEquals(seen, "0");
});

Deno.test("a program in the sandbox cannot lock or watch a file of a layer for a neighbour", async () => {
  using temp = tempDir();
  const archive = `${temp.path}/x.tar`;
  Deno.writeFileSync(archive, tar({ name: "file", body: "content", mode: 0o666 }));
  const layer = ["--layer", `${archive}:/opt/x`];
  const seen = await whileHeld(startInside("/opt/x/file", layer), async () => {
    assertEquals(await runInside(TRY("/opt/x/file"), layer), FREE);
    assertEquals((await bash("echo new >/opt/x/file; touch /opt/x/y", layer)).code, 0);
  });
  assertEquals(seen, "0");
});

Deno.test("the attack by locks and watches works between programs that share a file", async () => {
  using temp = tempDir();
  const path = `${temp.path}/file`;
  Deno.writeTextFileSync(path, "content");
  const child = new Deno.Command(PYTHON, {
    args: ["-c", hold(path, "rw")],
    ...{ stdin: "piped", stdout: "piped", stderr: "piped" },
  }).spawn();
  const seen = await whileHeld(child, async () => {
    assertEquals(await runOutside(TRY(path)), "['EAGAIN', 'EAGAIN', 'EAGAIN']");
  });
  assert(Number(seen) > 0);
});

Deno.test("what is bound is the host's own file: its locks and watches are seen, as SECURITY.md says", async () => {
  using temp = tempDir();
  const path = `${temp.path}/file`;
  Deno.writeTextFileSync(path, "content");
  const bind = ["--bind", `${temp.path}:/data`];
  const seen = await whileHeld(startInside("/data/file", bind), async () => {
    assertMatch(await runOutside(TRY(path)), /^\['EAGAIN', /);
  });
  assert(Number(seen) > 0);
});

Deno.test("a program in the sandbox cannot make a core file, or start what the host has for them", async () => {
  using temp = tempDir();
  Deno.chmodSync(temp.path, 0o777);
  const attack = (dir: string) =>
    program(
      `
import resource
os.chdir(ARG)
try:
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)
except ValueError:
    pass # it may not
child = os.fork()
if child == 0:
    os.kill(os.getpid(), signal.SIGSEGV)
return os.WCOREDUMP(os.waitpid(child, 0)[1]), os.listdir(".")`,
      dir,
    );
  const before = [...Deno.readDirSync(temp.path)].length;
  const answer = await runInside(attack("/data"), ["--bind", `${temp.path}:/data:rw`]);
  assertEquals(answer, "(False, [])");
  assertEquals([...Deno.readDirSync(temp.path)].length, before);
  // Outside it is dumped, where a limit that may be raised does not forbid it.
  const [hard] = /Max core file size\s+\S+\s+(\S+)/.exec(
    Deno.readTextFileSync("/proc/self/limits"),
  )!
    .slice(1);
  if (hard === "unlimited") assertMatch(await runOutside(attack(temp.path)), /^\(True/);
});

testAttacks([
  {
    deed: "see the control group of the host that it is in",
    outside: cannot("hosts differ"),
    python: `
lines = open("/proc/self/cgroup").read().split()
return sorted({line.split(":", 2)[2] for line in lines}), os.path.exists("/sys/fs/cgroup")`,
    inside: "(['/'], False)",
  },
  {
    deed: "see the store or an upper of the host in its mounts",
    argument: () => Deno.env.get("HOME") ?? "/root",
    outside: cannot("it says nothing of sandboxes there"),
    python: `
text = open("/proc/self/mountinfo").read()
options = [line.split(" - ")[1] for line in text.splitlines()]
return sorted({it for line in options for it in line.split()[2].split(",") if "dir=" in it and "/minisandbox" in it})`,
    inside: "[]",
  },
  {
    deed: "have its name seen on the host",
    under: ["unshare", "-Uru"],
    python: "call('sethostname', 'evil', 4)\nreturn os.uname().nodename",
    outside: "evil",
    inside: "EPERM",
    host: () => Deno.hostname(),
  },
  {
    deed: "change its own domain, clock, or time zone of the kernel",
    outside: cannot("it would change the host"),
    python: `
return sorted({attempt(call, "setdomainname", "evil", 4), attempt(time.clock_settime, 0, 0),
    attempt(call, "settimeofday", None, struct.pack("ii", 60, 0))})`,
    inside: "['EPERM']",
    host: () => Deno.readTextFileSync("/proc/sys/kernel/domainname"),
  },
  {
    deed: "see when and how often the host is interrupted",
    outside: cannot("hosts differ"),
    python: `
return [it for it in ("/proc/timer_list", "/proc/sched_debug", "/proc/latency_stats", "/proc/irq/0")
    if os.path.exists(it) and os.path.getsize(it) > 0 and os.path.isfile(it)]`,
    inside: "[]",
  },
  {
    deed: "read where the kernel lies in memory",
    outside: cannot("a setting decides"),
    python: `
found = {line.split()[0] for line in open("/proc/kallsyms")} if os.path.exists("/proc/kallsyms") else set()
return sorted(found - {"0000000000000000"})[:1]`,
    inside: "[]",
  },
]);

Deno.test("a program in the sandbox cannot change what stdout or stdin is for the host by fcntl", async () => {
  const attack = program(`
for fd in (0, 1, 2):
    fcntl.fcntl(fd, fcntl.F_SETFL, os.O_NONBLOCK | os.O_APPEND | os.O_ASYNC)
    attempt(fcntl.fcntl, fd, 1031, 4096)
    attempt(fcntl.fcntl, fd, fcntl.F_SETOWN, 0)
    attempt(fcntl.fcntl, fd, fcntl.F_SETSIG if hasattr(fcntl, "F_SETSIG") else 10, 9)
sys.stdout.write("x" * 100)`);
  const { code, stdout } = await minisandbox(["run", "--quiet", "-i", "--", PYTHON, "-c", attack], {
    stdin: "y".repeat(1 << 20),
  });
  assertEquals([code, stdout], [0, "x".repeat(100) + "ok"]);
});
