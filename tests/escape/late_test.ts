/** Attacks by outliving: what runs on when its sandbox has ended. */
import { assert, assertEquals } from "@std/assert";
import { program, PYTHON, runOutside } from "../support/attack.ts";
import { minisandbox, start } from "../support/minisandbox.ts";
import { readUntil } from "../support/read_until.ts";

/** Makes programs that keep out of the way of every signal; `ARG` marks them. */
const OUTLIVE = `
def hide():
    for number in range(1, 65):
        if number not in (9, 19, 32, 33):
            signal.signal(number, signal.SIG_IGN)
    os.setsid()
def spawn(deed):
    if os.fork() == 0:
        if os.fork() != 0:
            os._exit(0)
        hide()
        deed()
        os._exit(0)
    os.wait()
def wait_for_ever():
    while True:
        time.sleep(100)
def stop():
    os.kill(os.getpid(), signal.SIGSTOP)
def trace():
    child = os.fork()
    if child == 0:
        libc.ptrace(0, 0, None, None)
        os.kill(os.getpid(), signal.SIGSTOP)
        wait_for_ever()
    os.waitpid(child, 0)
    wait_for_ever()
def breed():
    while True:
        if os.fork() != 0:
            os._exit(0)
def wait_in_vfork():
    subprocess.Popen(["/bin/sh", "-c", "while :; do sleep 100; done", ARG])
    wait_for_ever()`;

const DEEDS = ["wait_for_ever", "stop", "trace", "breed", "wait_in_vfork"];

/** Processes of this machine that carry a mark. */
function marked(mark: string): number[] {
  return [...Deno.readDirSync("/proc")].flatMap(({ name }) => {
    if (!/^\d+$/.test(name) || Number(name) === Deno.pid) return [];
    try {
      const text = Deno.readTextFileSync(`/proc/${name}/cmdline`);
      return text.includes(mark) ? [Number(name)] : [];
    } catch {
      return []; // it has ended
    }
  });
}

for (const deed of DEEDS) {
  Deno.test(`a program in the sandbox cannot outlive it by ${deed.replaceAll("_", " ")}`, async () => {
    const mark = `minisandbox-mark-${crypto.randomUUID()}`;
    const attack = program(`${OUTLIVE}\nspawn(${deed})\nprint("spawned", flush=True)`, mark);
    // Outside, under a process that adopts its orphans, it is still there.
    const control = program(
      `${OUTLIVE}
check(libc.prctl(36, 1, 0, 0, 0))
spawn(${deed})
found = any(it.isdigit() and os.path.exists(f"/proc/{it}") for it in
    open(f"/proc/self/task/{os.getpid()}/children").read().split())
while True:
    for it in open(f"/proc/self/task/{os.getpid()}/children").read().split():
        attempt(os.kill, int(it), 9)
    if attempt(os.wait) == "ECHILD":
        break
return found`,
      mark,
    );
    assertEquals(await runOutside(control), "True");
    for (const more of [[], ["--timeout", "20"]]) {
      const { code, stdout } = await minisandbox([
        ...["run", "--quiet", ...more, "--", PYTHON, "-c", attack],
      ]);
      assertEquals([code, stdout], [0, "spawned\nok"]);
      assertEquals(marked(mark), []);
    }
  });
}

Deno.test("a program in the sandbox cannot outlive minisandbox by any of these, when it is killed", async () => {
  const mark = `minisandbox-mark-${crypto.randomUUID()}`;
  const attack = program(
    `${OUTLIVE}\n${DEEDS.map((it) => `spawn(${it})\n`).join("")}print("ready", flush=True)
wait_for_ever()`,
    mark,
  );
  const child = start(["run", "--quiet", "-i", "--", PYTHON, "-c", attack]);
  const reader = child.stdout.getReader();
  await readUntil(reader, "ready\n");
  assert(marked(mark).length > DEEDS.length);
  child.kill("SIGKILL");
  for (;;) if ((await reader.read()).done) break; // all who held its stdout are gone
  await Promise.all([child.stdin.close().catch(() => {}), child.status, child.stderr.cancel()]);
  while (marked(mark).length > 0) await new Promise((done) => setTimeout(done, 10));
  assertEquals((await minisandbox(["run", "--", "true"])).code, 0); // it removes what was left
});
