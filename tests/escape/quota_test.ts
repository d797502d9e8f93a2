/** Attacks on quotas that the kernel counts for a user: one sandbox takes all that it can get. */
import { assert, assertEquals } from "@std/assert";
import { program, PYTHON, runInside, runOutside } from "../support/attack.ts";
import { identity } from "../support/identity.ts";
import { start } from "../support/minisandbox.ts";
import { readUntil } from "../support/read_until.ts";

/** Each quota, and how one piece of it is taken. */
const QUOTAS: Readonly<Record<string, string>> = {
  "instances of inotify": "check(libc.inotify_init1(0))",
  "bytes in message queues": `
taken = globals().setdefault("taken", [])
name = f"/minisandbox-test-{os.getpid()}-{len(taken)}".encode()
check(libc.mq_open(name, os.O_CREAT | os.O_RDWR, 0o600, None))
taken.append(name)`,
  "signals that wait, and timers": `
class Event(ctypes.Structure):
    _fields_ = [("value", ctypes.c_void_p), ("signal", ctypes.c_int), ("notify", ctypes.c_int),
        ("rest", ctypes.c_char * 48)]
check(libc.timer_create(0, ctypes.byref(Event(None, 34, 0)), ctypes.byref(ctypes.c_void_p())))`,
};

/** Takes pieces until none is left, and says how many that were, and why no more. */
const TAKE = (deed: string, most: number) => `
import resource
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
def take():
${deed.trim().split("\n").map((line) => `    ${line}`).join("\n")}
count, state = 0, "all"
while count < ${most}:
    state = attempt(take)
    if state != "ok":
        break
    count += 1`;

/** The same by other ids, where there are others: each takes what it still can. */
const TAKE_BY_OTHERS = `
reader, writer = os.pipe()
for uid in range(1, 9):
    if os.fork() == 0:
        if attempt(os.setresuid, uid, uid, uid) == "ok":
            while attempt(take) == "ok":
                pass
        os.write(writer, b"x")
        signal.pause()
for _ in range(8):
    os.read(reader, 1)`;

const GIVE_BACK = `
for it in globals().get("taken", []):
    libc.mq_unlink(it)`;

const MOST = 10 ** 7;

for (const [quota, deed] of Object.entries(QUOTAS)) {
  Deno.test({
    name: `a program in the sandbox cannot take the host's or a neighbour's ${quota}`,
    // Root outside and inside are one user there: only his limits hold him, and inotify has none.
    ignore: identity() === "none" && quota.includes("inotify"),
    fn: async () => {
      const hostile = start([
        ...["run", "--quiet", "-i", "--", PYTHON, "-c"],
        program(`${TAKE(deed, MOST)}${TAKE_BY_OTHERS}
print(count, state, flush=True)
sys.stdin.read()`),
      ]);
      const reader = hostile.stdout.getReader();
      try {
        const [count, state] = (await readUntil(reader, "\n")).trim().split(" ");
        assert(Number(count) > 0); // it had some, and was stopped
        assert(["EMFILE", "EAGAIN"].includes(state!), state);
        const few = program(`${TAKE(deed, 2)}${GIVE_BACK}\nreturn count, state`);
        assertEquals(await runOutside(few), "(2, 'ok')");
        // Without user namespaces all sandboxes are one user, of whom only the host is spared.
        if (identity() !== "none") assertEquals(await runInside(few), "(2, 'ok')");
      } finally {
        await hostile.stdin.close();
        for (;;) if ((await reader.read()).done) break;
        await Promise.all([hostile.status, hostile.stderr.cancel()]);
      }
    },
  });
}

Deno.test("what a sandbox took of a quota is given back when it has ended", async () => {
  const all = program(
    Object.values(QUOTAS).map((deed) => `${TAKE(deed, MOST)}\nassert count > 0`).join("\n"),
  );
  const few = program(`${TAKE(QUOTAS["bytes in message queues"]!, 2)}\nreturn count, state`);
  assertEquals(await runInside(all), "ok");
  assertEquals(await runInside(few), "(2, 'ok')");
});
