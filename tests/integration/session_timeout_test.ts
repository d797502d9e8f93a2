/** Tests that a command ends when it has to, with all that it has started, and the session goes on. */
import { assert, assertEquals } from "@std/assert";
import { exited, liveSandbox, liveSession, openIn } from "../support/live_session.ts";

const TIMED_OUT = { kind: "timedOut" } as const;

Deno.test("a timed-out command's output is there, and the session has all it had", async () => {
  await using session = await liveSession();
  await session.run("cd /usr; x=1");
  const said = await session.run("echo a; sleep 600; echo b", { timeoutMs: 300 });
  assertEquals([said.outcome, said.text, said.restarted], [TIMED_OUT, "a\n", false]);
  assertEquals(await session.print("echo asdf"), "asdf\n");
  assertEquals(await session.print("echo $x; pwd"), "1\n/usr\n");
});

Deno.test("ten lines before a time-out are all there", async () => {
  await using session = await liveSession();
  const { text } = await session.run("seq 10; cat /dev/zero >/dev/null", { timeoutMs: 300 });
  assertEquals(text, "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n");
});

/** What does not want to end; each leaves no process, and the session as it was. */
const STUBBORN: Readonly<Record<string, string>> = {
  "a wrapper and its child": "bash -c 'sleep 600 & wait'",
  "a child that ignores signals":
    "sh -c 'trap \"\" INT TERM HUP QUIT; while :; do sleep 600; done'",
  "a pipeline": "sleep 600 | sleep 600 | sleep 600",
  "a subshell": "(sleep 600; sleep 600)",
  "a command substitution": "x=$(sleep 600)",
  "a loop of programs": "while :; do sleep 600; done",
  "a loop of shell code": "while :; do :; done",
  "a function that calls itself again": "f() { sleep 0; f; }; f",
  "a stopped child": "sh -c 'kill -STOP $$' | cat",
  "a stopped shell": "kill -STOP $$; sleep 600",
  "an orphan with a session of its own": "(setsid sleep 600 &) ; sleep 600",
  "a daemon": "sh -c '(setsid sh -c \"sleep 600; :\" >/dev/null 2>&1 </dev/null &)'; sleep 600",
  "background jobs": "for i in {1..50}; do sleep 600 & done; wait",
  "a reader of a pipe": "mkfifo /tmp/p; cat /tmp/p",
  "a reader of the terminal": "cat /dev/tty",
  "a read of the terminal": "read x </dev/tty",
  "a writer of much": "cat /dev/zero",
  "a trap that takes SIGINT": "trap 'echo' INT; sleep 600; sleep 600; trap - INT",
};

for (const [name, command] of Object.entries(STUBBORN)) {
  Deno.test(`${name} is ended by a time-out, and the session goes on`, async () => {
    await using session = await liveSession();
    await session.run("kept=1; sleep 777 &");
    const said = await session.run(command, {
      timeoutMs: 300,
      output: { headBytes: 100, tailBytes: 100 },
    });
    assertEquals([said.outcome, said.restarted], [TIMED_OUT, false]);
    assertEquals(await session.print("trap - INT; echo $kept"), "1\n");
    assertEquals(
      await session.print("pgrep -a '^(sleep|cat|sh)$' | cut -d ' ' -f 2-"),
      "sleep 777\n",
    );
  });
}

/** Shell code that ignores what a terminal and we can send. */
const DEAF = "trap '' INT TSTP QUIT TERM HUP $(seq 34 64); while :; do :; done";

Deno.test("a shell that cannot be had back is replaced, with its directory, exports and umask", async () => {
  await using session = await liveSession();
  await session.run("cd /usr/share; export a='x y' b=$'1\\n2'; c=3; umask 027; f() { :; }");
  const said = await session.run(`echo begun; ${DEAF}`, { timeoutMs: 300 });
  assertEquals([said.outcome, said.restarted, said.text], [TIMED_OUT, true, "begun\n"]);
  const next = await session.run('echo "$a $b" $c; pwd; umask');
  assertEquals([next.restarted, next.text], [false, "x y 1\n2\n/usr/share\n0027\n"]);
  assertEquals((await session.run("sleep 600", { timeoutMs: 200 })).outcome, TIMED_OUT);
});

Deno.test("shell code that ignores SIGINT is stopped, and keeps its variables", async () => {
  await using session = await liveSession();
  const said = await session.run("x=1; trap '' INT TSTP QUIT; while :; do :; done", {
    timeoutMs: 300,
  });
  assertEquals([said.outcome, said.restarted], [TIMED_OUT, false]);
  assertEquals(await session.print("echo $x"), "1\n");
});

Deno.test("what earlier commands left in the background outlives a time-out, with its children", async () => {
  await using session = await liveSession();
  await session.run("sleep 701 & (sleep 702; :) & setsid sh -c 'sleep 703 & sleep 704; :' &");
  await session.run("while [[ $(pgrep -c '^sleep$') != 4 ]]; do :; done");
  assertEquals((await session.run("sleep 705", { timeoutMs: 200 })).outcome, TIMED_OUT);
  assertEquals(
    await session.print("pgrep -a '^sleep$' | cut -d ' ' -f 3 | sort"),
    "701\n702\n703\n704\n",
  );
});

Deno.test("a time-out in one session touches no other, nor its orphans", async () => {
  await using sandbox = await liveSandbox();
  await using first = await openIn(sandbox);
  await using second = await openIn(sandbox);
  const running = first.run("(setsid sleep 711 &); sleep 712 & wait $!; echo done");
  await second.run("while [[ $(pgrep -c '^sleep$') != 2 ]]; do :; done");
  assertEquals((await second.run("sleep 713 & wait", { timeoutMs: 200 })).outcome, TIMED_OUT);
  const { text } = await second.run(
    "pgrep -a '^sleep$' | cut -d ' ' -f 3 | sort; pkill -f 'sleep 712'",
  );
  assertEquals(text, "711\n712\n");
  assertEquals((await running).text, "done\n");
});

Deno.test("a command may print nothing for only so long", async () => {
  await using session = await liveSession();
  const talks = await session.run("for i in {1..6}; do echo $i; sleep 0.1; done", {
    noOutputMs: 5000,
  });
  assertEquals(talks.outcome, exited(0));
  const silent = await session.run("echo a; sleep 600", { noOutputMs: 300 });
  assertEquals([silent.outcome, silent.text], [{ kind: "noOutput" }, "a\n"]);
  assertEquals(await session.print("echo on"), "on\n");
});

Deno.test("output without end is cut at its limit, in bounded memory", async () => {
  await using session = await liveSession();
  const timed = await session.shell.run("yes", {
    timeoutMs: 500,
    output: { headBytes: 10, tailBytes: 10 },
  });
  assertEquals(timed.outcome, TIMED_OUT);
  assertEquals([timed.output.head.length, timed.output.tail.length], [10, 10]);
  assert(timed.output.totalBytes > 20);
  const limited = await session.shell.run("yes", { maxTotalBytes: 1_000_000 });
  assertEquals(limited.outcome, { kind: "outputLimit" });
  assertEquals(await session.print("pgrep -c yes || echo on"), "0\non\n");
});

Deno.test("what is answered at once is not kept waiting by a grandchild on the terminal", async () => {
  await using session = await liveSession();
  const said = await session.run("sh -c '(sleep 600 &) ; echo hi'");
  assertEquals([said.outcome, said.text], [exited(0), "hi\n"]);
});

Deno.test("a thousand orphans leave no zombie", async () => {
  await using session = await liveSession();
  await session.print("for i in {1..1000}; do sh -c '(true &)'; done");
  assertEquals(await session.print("grep -l '^State:.Z' /proc/[0-9]*/status | wc -l"), "0\n");
});

Deno.test("two thousand background processes are ended by a time-out", async () => {
  await using session = await liveSession();
  const said = await session.run("for i in {1..2000}; do sleep 600 & done; echo all; wait", {
    noOutputMs: 4000,
  });
  assertEquals(said.outcome, { kind: "noOutput" });
  assertEquals(await session.print("pgrep -c sleep || echo on"), "0\non\n");
});

Deno.test("a session's own limit holds where a command has none", async () => {
  await using session = await liveSession({ commandTimeoutMs: 300 });
  assertEquals((await session.shell.run("sleep 600")).outcome, TIMED_OUT);
  assertEquals((await session.run("sleep 0.5; echo x", { timeoutMs: 60_000 })).text, "x\n");
});

Deno.test("every one of twenty time-outs in a row leaves the session usable", async () => {
  await using session = await liveSession();
  for (let i = 0; i < 20; i++) {
    const said = await session.run(`echo ${i}; sleep 600`, { timeoutMs: 20 + 5 * i });
    assertEquals(said.outcome, TIMED_OUT);
    assertEquals(await session.print(`echo -n ${i}`), `${i}`);
  }
});
