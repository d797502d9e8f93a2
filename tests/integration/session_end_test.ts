/** Tests of the ends of sessions, of hostile programs in them, and of what is left. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { CommandError, GoneError, SetupError } from "../../src/errors.ts";
import { exited, liveSandbox, liveSession, openIn } from "../support/live_session.ts";

const ENDED = "Cannot run in the session: the sandbox has ended";

Deno.test("a session is closed in any state, twice as well", async () => {
  await using sandbox = await liveSandbox();
  const idle = await openIn(sandbox);
  await Promise.all([idle.shell.close(), idle.shell.close()]);
  const busy = await openIn(sandbox);
  const running = assertRejects(() => busy.run("sleep 600"), GoneError);
  const queued = assertRejects(() => busy.run("echo"), GoneError);
  await busy.shell.close();
  await running;
  assertEquals((await queued).message, "Cannot use the session: it is closed");
  const talking = await openIn(sandbox);
  await talking.shell.start("cat", { expect: [""] });
  await talking.shell.close();
  const stopping = await openIn(sandbox);
  const stopped = assertRejects(
    () => stopping.run("trap '' INT; while :; do :; done", { timeoutMs: 100 }),
    GoneError,
  );
  await new Promise((resolve) => setTimeout(resolve, 300));
  await stopping.shell.close();
  await stopped;
  const dead = await openIn(sandbox);
  await dead.run("kill -9 $$");
  await dead.shell.close();
  await assertRejects(() => dead.run("echo"), GoneError);
});

Deno.test("a session that is closed leaves no process, no descriptor and no file", async () => {
  await using sandbox = await liveSandbox();
  await using other = await openIn(sandbox);
  const count = async () => ({
    processes: await other.print("ps -e -o comm= | grep -vc '^ps$'"),
    files: await other.print("ls -a /run"),
    descriptors: [...Deno.readDirSync("/proc/self/fd")].length,
  });
  const before = await count();
  for (let i = 0; i < 10; i++) {
    const session = await openIn(sandbox);
    await session.run("sleep 600 & (setsid sleep 600 &) ; exec 5</etc/passwd");
    const replaced = await session.run("trap '' INT TSTP $(seq 34 64); while :; do :; done", {
      timeoutMs: i === 0 ? 100 : 1,
    });
    assertEquals(replaced.outcome, { kind: "timedOut" });
    await session.shell.close();
  }
  assertEquals(await count(), before);
});

Deno.test("the end of the sandbox is told as such, to commands that run and to later ones", async () => {
  await using session = await liveSession();
  await using idle = await openIn(session.sandbox);
  const running = assertRejects(() => session.run("sleep 600"), GoneError);
  await new Promise((resolve) => setTimeout(resolve, 100));
  Deno.kill(session.sandbox.initPid, "SIGKILL");
  assertEquals((await running).message, ENDED);
  assertEquals((await assertRejects(() => session.run("echo"), GoneError)).message, ENDED);
  const later = await assertRejects(() => idle.run("echo"), GoneError);
  assertStringIncludes(later.message, "the sandbox has ended");
});

Deno.test("a sandbox that is closed ends its sessions", async () => {
  const sandbox = await liveSandbox();
  await using session = await openIn(sandbox);
  const running = assertRejects(() => session.run("sleep 600"), GoneError);
  await new Promise((resolve) => setTimeout(resolve, 100));
  await sandbox[Symbol.asyncDispose]();
  assertEquals((await running).message, ENDED);
  await assertRejects(() => openIn(sandbox), GoneError);
});

Deno.test("without a bash inside, a session says so", async () => {
  await using session = await liveSession();
  await session.print("rm -f /bin/bash /usr/bin/bash");
  const error = await assertRejects(() => openIn(session.sandbox), CommandError);
  assertEquals(error.exitCode, 127);
  assertEquals(await session.print("echo on"), "on\n");
});

Deno.test("a bash that is none, or never ready, is told as such, with what it said", async () => {
  await using session = await liveSession();
  await session.print(
    "rm /bin/bash; printf '#!/bin/sh\\necho no bash\\n' >/bin/bash; chmod +x /bin/bash",
  );
  const none = await assertRejects(() => openIn(session.sandbox), SetupError);
  assertEquals(none.message, 'Cannot start the session: its shell has ended: "no bash"');
  await session.print("printf '#!/bin/sh\\nexec sleep 600\\n' >/bin/bash");
  const late = await assertRejects(
    () => openIn(session.sandbox, { startupTimeoutMs: 200 }),
    SetupError,
  );
  assertEquals(late.message, "Cannot start the session: not ready in 200 ms");
  assertEquals(await session.print("pgrep -c sleep || ls /run | wc -l"), "0\n1\n");
});

Deno.test("files to be read first that never end, are given up", async () => {
  await using sandbox = await liveSandbox();
  await using first = await openIn(sandbox);
  await first.print("echo 'sleep 600' >/tmp/slow");
  await using session = await openIn(sandbox, {
    startupSource: ["/tmp/slow"],
    startupTimeoutMs: 500,
  });
  assertEquals(session.shell.startup?.outcome, { kind: "timedOut" });
  assertEquals(await session.print("echo on"), "on\n");
});

Deno.test("a shell that is stopped while it has nothing to do goes on with the next command", async () => {
  await using session = await liveSession();
  await using other = await openIn(session.sandbox);
  const pid = (await session.print("echo $$")).trim();
  await other.print(`kill -STOP ${pid}`);
  const said = await session.run("echo on");
  assertEquals([said.outcome, said.text, said.restarted], [exited(0), "on\n", false]);
});

Deno.test("a shell that takes no more commands is replaced", async () => {
  await using session = await liveSession();
  await using other = await openIn(session.sandbox);
  const pid = (await session.print("cd /usr; export a=1; trap 'while :; do :; done' USR1; echo $$"))
    .trim();
  // It sleeps once it has kept its state, and waits for the next command.
  const sleeps = `read -r _ _ s _ </proc/${pid}/stat && [[ $s == S ]]`;
  await other.print(`until ${sleeps}; do :; done; kill -USR1 ${pid}`);
  const lost = await session.run("echo never", { timeoutMs: null });
  assertEquals([lost.outcome, lost.text, lost.restarted], [{ kind: "timedOut" }, "", true]);
  assertEquals(await session.print("pwd; echo $a"), "/usr\n1\n");
});

/** What a program does to the channel of its own session; `$d` is its directory. */
const HOSTILE: Readonly<Record<string, string>> = {
  "removes it": "rm -r $d",
  "removes what it reports by": "rm $d/report",
  "removes what it is told by": "rm $d/kick",
  "moves it away": "mv $d /tmp/moved",
  "puts a file in place of a pipe": "rm $d/kick; echo cn00000000 >$d/kick",
  "puts a link to a device in place of a pipe": "ln -sf /dev/zero $d/kick",
  "puts a directory in place of the text": "rm $d/text; mkdir $d/text",
};

for (const [deed, command] of Object.entries(HOSTILE)) {
  Deno.test(`a program that ${deed} harms its own session only, in time`, async () => {
    await using sandbox = await liveSandbox();
    await using other = await openIn(sandbox);
    await using session = await openIn(sandbox);
    const own = "d=$(tr '\\0' '\\n' </proc/$$/cmdline | grep /driver); d=${d%/driver}; ";
    const outcomes: string[] = [];
    for (const text of [own + command, "echo hi", "echo hi"]) {
      outcomes.push(
        await session.run(text, { timeoutMs: 2000 }).then(
          ({ outcome }) => outcome.kind,
          (error) => error.name,
        ),
      );
    }
    const usual = ["exited", "timedOut", "GoneError"];
    assert(outcomes.every((outcome) => usual.includes(outcome)), outcomes.join());
    assertEquals(await other.print("echo on"), "on\n");
  });
}

Deno.test("what a program writes into the channel is taken for nothing", async () => {
  await using session = await liveSession();
  await session.print("d=$(tr '\\0' '\\n' </proc/$$/cmdline | grep /driver); d=${d%/driver}");
  await session.print(
    "(printf 'e 00000000 0 \\ns zz\\ngarbage' >$d/report; yes >$d/report) 2>/dev/null &",
  );
  await session.print("head -c 200000 /dev/zero | tr '\\0' x >$d/kick & sleep 0.1");
  for (let i = 0; i < 20; i++) assertEquals(await session.print(`echo ${i}`), `${i}\n`);
  assertEquals((await session.run("(exit 9)")).outcome, exited(9));
});

Deno.test("a full /run takes no short command from a session, and a long one is refused", async () => {
  await using session = await liveSession();
  await session.run("head -c 1000000000000 /dev/zero >/run/full 2>/dev/null");
  assertEquals(await session.print("echo short"), "short\n");
  const error = await assertRejects(() => session.run(`echo ${"x".repeat(100_000)}`), SetupError);
  assertStringIncludes(error.message, "Cannot send the command: write(");
  assertStringIncludes(error.message, "ENOSPC");
  assertEquals(await session.print("rm /run/full; echo on"), "on\n");
  assertEquals((await session.print(`echo ${"x".repeat(100_000)}`)).length, 100_001);
});

Deno.test("hundreds of sessions live side by side, and each answers", async () => {
  await using sandbox = await liveSandbox();
  const sessions = await Promise.all(Array.from({ length: 64 }, () => openIn(sandbox)));
  const answers = await Promise.all(sessions.map((session, i) => session.print(`echo ${i}`)));
  assertEquals(answers, sessions.map((_, i) => `${i}\n`));
  await Promise.all(sessions.map((session) => session.shell.close()));
});

Deno.test("two thousand commands and fifty time-outs leave the server as it was", async () => {
  await using session = await liveSession();
  await session.run("sleep 600", { timeoutMs: 20 });
  const count = () => [...Deno.readDirSync("/proc/self/fd")].length;
  const before = count();
  for (let i = 0; i < 2000; i++) await session.print(`echo ${i}`);
  for (let i = 0; i < 50; i++) await session.run("sleep 600", { timeoutMs: 1 });
  assertEquals(count(), before);
});
