/** Tests of what is left when the program is ended, at any moment and in any way: nothing. */
import { assertEquals } from "@std/assert";
import { delay } from "@std/async/delay";
import { adoptOrphans, awaitNoDescendants } from "../support/descendants.ts";
import { assertNothingLeft, minisandbox, sharedStore, start } from "../support/minisandbox.ts";
import { randomFrom } from "../support/random.ts";
import { readUntil } from "../support/read_until.ts";
import { tar } from "../support/tar.ts";
import { tempDir } from "../support/temp_dir.ts";
import { describeTree } from "../support/tree.ts";

const KILLS = 50;

/** The dead may take this long to go: a bound for failures, not a wait. */
const DEADLINE_MS = 20_000;

/** Another seed gives other moments; that of a failure is printed. */
const SEED = Number(Deno.env.get("MINISANDBOX_TEST_SEED") ?? Date.now() % 1_000_000);

/** An archive whose unpacking takes a while. */
function makeArchive(path: string, salt: number): void {
  const directories = Array.from(
    { length: 40 },
    (_, i) => ({ name: `d${i}`, type: "5", mode: 0o755 }),
  );
  const files = Array.from({ length: 400 }, (_, i) => ({
    name: `d${i % 40}/file-${i}`,
    body: new Uint8Array(5000).fill(i + salt),
  }));
  Deno.writeFileSync(path, tar({ name: "./", type: "5", mode: 0o755 }, ...directories, ...files));
}

adoptOrphans();

/** What lies in each layer: whole, or not there at all. */
function describeLayers(store: string): string[][] {
  return [...Deno.readDirSync(`${store}/layers`)].map(({ name }) =>
    describeTree(`${store}/layers/${name}/tree/opt/x`)
  );
}

Deno.test(`after kill -9 at ${KILLS} moments nothing survives the next start`, async () => {
  using temp = tempDir();
  const below = randomFrom(SEED);
  const random = () => below(2 ** 32) / 2 ** 32;
  const archive = `${temp.path}/x.tar`;
  makeArchive(archive, 0);
  const store = sharedStore();
  const run = (...command: string[]) => [
    ...["run", "--quiet", "--layer", `${archive}:/opt/x`, "--", ...command],
  ];
  assertEquals((await minisandbox(["run", "--quiet", "--", "true"])).code, 0); // prepares the base
  const started = performance.now();
  assertEquals((await minisandbox(run("true"))).code, 0);
  const wholeMs = performance.now() - started;
  const [whole] = describeLayers(store);
  try {
    for (let round = 0; round < KILLS; round++) {
      const isCold = round % 2 === 0;
      if (isCold) await removeLayers(store);
      const child = start(run("bash", "-c", "sleep 60 & setsid sleep 60 & wait"));
      // By time, or as soon as the n-th process or thread has been made: between clone and execution.
      if (round % 4 < 2) await delay(random() * (isCold ? 2 : 1) * wholeMs);
      else awaitNewPids(1 + Math.floor(random() * 60), random() * 2 * wholeMs);
      child.kill("SIGKILL");
      await Promise.all([child.stdin.close(), child.output()]);
      await awaitNoDescendants(DEADLINE_MS);

      assertEquals((await minisandbox(["run", "--quiet", "--", "true"])).code, 0);
      assertNothingLeft(store);
      for (const layer of describeLayers(store)) assertEquals(layer, whole);
    }
  } catch (error) {
    console.error(`MINISANDBOX_TEST_SEED=${SEED}`);
    throw error;
  }
  const mounts = Deno.readTextFileSync("/proc/self/mountinfo").split("\n");
  const own = mounts.filter((line) => line.includes(store) || line.includes("minisandbox"));
  // While debootstrap makes a root for another suite, it has a /proc of its own there.
  assertEquals(own.filter((line) => !line.includes("/minisandbox-debian-")), []);
});

for (const [signal, code] of [["SIGTERM", 143], ["SIGINT", 130], ["SIGHUP", 129]] as const) {
  for (const [what, args] of [["run", ["--", "true"]], ["layer import", []]] as const) {
    Deno.test(`${what} ended by ${signal} while it unpacks leaves nothing and exits with ${code}`, async () => {
      using temp = tempDir();
      const archive = `${temp.path}/x.tar`;
      makeArchive(archive, code);
      const store = sharedStore();
      const layers = () => [...Deno.readDirSync(`${store}/layers`)].length;
      assertEquals((await minisandbox(["run", "--quiet", "--", "true"])).code, 0); // makes the store
      const before = layers();
      const option = what === "run" ? ["--layer"] : [];
      const unpacking = firstFile(`${store}/tmp`);
      const child = start([...what.split(" "), ...option, `${archive}:/opt/x`, ...args]);
      await unpacking;
      child.kill(signal);
      const [{ code: found, stderr }] = await Promise.all([child.output(), child.stdin.close()]);
      assertEquals([found, new TextDecoder().decode(stderr).includes("fault")], [code, false]);
      await awaitNoDescendants(DEADLINE_MS);
      assertNothingLeft(store);
      assertEquals(layers(), before);
    });
  }
}

Deno.test("a program that ignores every signal, and its daemons, are gone when run returns", async () => {
  const script = `trap '' $(seq 1 64)
    for i in $(seq 20); do (setsid setsid sleep 600 &) ; done
    (trap '' HUP INT TERM; exec setsid sleep 600) &
    exit 3`;
  assertEquals((await minisandbox(["run", "--quiet", "--", "bash", "-c", script])).code, 3);
  await awaitNoDescendants(DEADLINE_MS);
});

Deno.test("500 processes are gone when run returns", async () => {
  const script = "for i in $(seq 500); do sleep 600 & done; kill -9 $$";
  assertEquals((await minisandbox(["run", "--quiet", "--", "bash", "-c", script])).code, 137);
  await awaitNoDescendants(DEADLINE_MS);
});

Deno.test("a program that is traced by another, which never lets go, ends at its time-out", async () => {
  // The zombie of a traced process stays until its tracer has seen it: to wait for it would freeze us.
  const script = `
import ctypes, os, signal
ptrace = ctypes.CDLL(None, use_errno=True).ptrace
ptrace.argtypes = [ctypes.c_long] * 4
reader, writer = os.pipe()
parent = os.getpid()
if os.fork() == 0:
    os.setsid()
    os.write(writer, b"ok" if ptrace(0x4206, parent, 0, 0) == 0 else b"no")
    while True:
        signal.pause()
print(os.read(reader, 2).decode(), flush=True)`;
  const args = ["run", "--quiet", "--timeout", "1", "--", "/usr/bin/python3", "-c", script];
  const { code, stdout } = await minisandbox(args);
  assertEquals([stdout, code], ["ok\n", 124]);
  await awaitNoDescendants(DEADLINE_MS);
});

Deno.test("a program that stops, slows and limits all it can cannot outlive minisandbox", async () => {
  const script = `
import os, resource, signal
for deed in (
    lambda: os.setpriority(os.PRIO_PROCESS, 1, 19),
    lambda: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0)),
    lambda: os.sched_setaffinity(1, {0}),
    lambda: resource.prlimit(1, resource.RLIMIT_NOFILE, (0, 0)),
    lambda: open("/proc/1/oom_score_adj", "w").write("1000"),
    lambda: os.kill(1, signal.SIGSTOP),
):
    try:
        deed()
    except OSError:
        pass
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for _ in range(20):
    if os.fork() == 0:
        os.setsid()
        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
        while True:
            os.read(os.pipe()[0], 1)
print("ready", flush=True)
while True:
    try:
        os.kill(-1, signal.SIGSTOP)
    except ProcessLookupError:
        pass`;
  const child = start(["run", "--quiet", "--", "/usr/bin/python3", "-c", script]);
  const reader = child.stdout.getReader();
  await readUntil(reader, "ready\n");
  child.kill("SIGKILL");
  await Promise.all([child.status, child.stdin.close(), child.stderr.cancel(), reader.cancel()]);
  await awaitNoDescendants(DEADLINE_MS);
  assertEquals((await minisandbox(["run", "--quiet", "--", "true"])).code, 0);
  assertNothingLeft(sharedStore());
});

async function removeLayers(store: string): Promise<void> {
  const keys = [...Deno.readDirSync(`${store}/layers`)].map(({ name }) => name);
  if (keys.length === 0) return;
  assertEquals((await minisandbox(["layer", "remove", ...keys])).code, 0);
}

/** Resolves when the first file is made beneath a directory. */
async function firstFile(dir: string): Promise<void> {
  using watcher = Deno.watchFs(dir);
  for await (const { kind } of watcher) if (kind === "create") return;
}

/** Returns as soon as `count` processes and threads have been made on this host. */
function awaitNewPids(count: number, deadlineMs: number): void {
  const last = () => Number(Deno.readTextFileSync("/proc/loadavg").trim().split(" ").at(-1));
  const first = last();
  const until = performance.now() + deadlineMs;
  while (last() - first < count && performance.now() < until);
}
