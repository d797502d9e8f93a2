/** Tests of interactive programs in a session, and of interrupts. */
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { UsageError } from "../../src/errors.ts";
import { exited, liveSession, toText, upTo } from "../support/live_session.ts";
import { requires } from "../support/requirement.ts";

const WAIT = { timeoutMs: 60_000 };
const PROMPT = { expect: [">>> "], ...WAIT };

Deno.test({
  name: "a Python that is talked to answers each line, without echo or lag, and ends",
  ...requires("python3"),
  fn: async () => {
    await using session = await liveSession();
    const { shell } = session;
    assertStringIncludes(upTo(await shell.start("python3 -q", PROMPT)), "");
    assertEquals(upTo(await shell.send("1+1\n", PROMPT)), "2\n");
    assertEquals(upTo(await shell.send("2+2\n", PROMPT)), "4\n");
    assertEquals(upTo(await shell.send("x = 'é'\n", PROMPT)), "");
    assertEquals(upTo(await shell.send("print(x * 3)\n", PROMPT)), "ééé\n");
    const { result } = await shell.send("exit(3)\n", { isQuit: true, ...WAIT });
    assertEquals(result?.outcome, exited(3));
    assertEquals(await session.print("echo on"), "on\n");
  },
});

Deno.test({
  name: "Ctrl-C takes a Python back to its prompt, whatever it computes",
  ...requires("python3"),
  fn: async () => {
    await using session = await liveSession();
    const { shell } = session;
    await shell.start("python3 -q", PROMPT);
    const late = await shell.send("while True: pass\n\n", { expect: [">>> "], timeoutMs: 200 });
    assertEquals([late.isTimedOut, late.match, late.result], [true, null, null]);
    const back = await shell.interrupt({ expect: [">>> "], timeoutMs: 60_000 });
    assertStringIncludes(upTo(back!), "KeyboardInterrupt\n");
    assertEquals(upTo(await shell.send("1\n", PROMPT)), "1\n");
    const { result } = await shell.send("\x04", { isQuit: true, ...WAIT });
    assertEquals(result?.outcome, exited(0));
  },
});

Deno.test("a program that took an interrupt goes on, and no newline of its is missing", async () => {
  await using session = await liveSession();
  const { shell } = session;
  await shell.start("trap 'echo taken' INT; echo go; while read x; do echo $x; done", {
    expect: ["go\n"],
    ...WAIT,
  });
  assertEquals(upTo((await shell.interrupt({ expect: ["taken\n"] }))!), "");
  assertEquals(upTo(await shell.send("a\n", { expect: ["\n"], ...WAIT })), "a");
  assertEquals((await shell.send("\x04", { isQuit: true, ...WAIT })).result?.outcome, exited(0));
});

Deno.test("the first of several patterns is found, literal or regular, across pieces", async () => {
  await using session = await liveSession();
  const { shell } = session;
  const found = await shell.start("printf 'abc d'; sleep 0.1; printf 'ef 12 é3 x'; read", {
    expect: ["nothing", "c def", /\d+ (?=é)/],
    ...WAIT,
  });
  assertEquals([upTo(found), found.match?.index], ["ab", 1]);
  const next = await shell.send("", { expect: [/é\d/u, "x"], ...WAIT });
  assertEquals([upTo(next), toText(next.match!.bytes)], [" 12 ", "é3"]);
  const { output, result } = await shell.send("\n", { expect: ["never"], ...WAIT });
  assertEquals([toText(output), result?.outcome], [" x", exited(0)]);
});

Deno.test("a program that ends before it says what was expected, is told with all it said", async () => {
  await using session = await liveSession();
  const { output, match, result } = await session.shell.start("echo short; exit 4", PROMPT);
  assertEquals([toText(output), match, result?.outcome], ["short\n", null, exited(4)]);
  const wrong = await session.shell.start("echo )", PROMPT);
  assertEquals(wrong.result?.outcome.kind, "syntaxError");
  assertEquals(await session.print("echo on"), "on\n");
});

Deno.test("while a program has the terminal, commands are refused, and input without one too", async () => {
  await using session = await liveSession();
  const { shell } = session;
  await shell.start("cat", { expect: [""], ...WAIT });
  const busy = await assertRejects(() => session.run("echo"), UsageError);
  assertStringIncludes(
    busy.message,
    "Cannot run: an interactive program has the session's terminal",
  );
  assertEquals(upTo(await shell.send("a\n", { expect: ["\n"], ...WAIT })), "a");
  assertEquals((await shell.send("\x04", { isQuit: true, ...WAIT })).result?.outcome, exited(0));
  const idle = await assertRejects(() => shell.send("x"), UsageError);
  assertStringIncludes(idle.message, "Cannot send input: no interactive program runs");
});

Deno.test("what a program leaves unread is never a command", async () => {
  await using session = await liveSession();
  const { shell } = session;
  await shell.start("read x; echo got $x", { expect: [""], ...WAIT });
  const { output } = await shell.send("one\ntouch /tmp/harm\nexit\n", { isQuit: true, ...WAIT });
  assertEquals(toText(output), "got one\n");
  assertEquals(await session.print("ls /tmp; read -t 1 y </dev/tty || echo nothing"), "nothing\n");
});

Deno.test("input that nobody reads is given up, and the program can still be ended", async () => {
  await using session = await liveSession();
  const { shell } = session;
  await shell.start("sleep 600", { expect: [""], ...WAIT });
  const lines = new TextEncoder().encode(`${"x".repeat(79)}\n`.repeat(10_000));
  assertEquals((await shell.send(lines, { timeoutMs: 300 })).isTimedOut, true);
  const { result } = (await shell.interrupt())!;
  assertEquals(result?.outcome, { kind: "interrupted" });
  assertEquals(await session.print("echo on"), "on\n");
});

Deno.test("a program of raw mode and other screens leaves a terminal as it was", async () => {
  await using session = await liveSession();
  const { shell } = session;
  await shell.start("stty raw echo; printf '\\e[?1049h'; sleep 600", { expect: ["h"], ...WAIT });
  assertEquals((await shell.interrupt())?.result?.outcome, { kind: "interrupted" });
  assertEquals(await session.print("printf 'a\\nb\\n'"), "a\nb\n");
});

/** What does not end by SIGINT. */
const DEAF: Readonly<Record<string, string>> = {
  "less": "less -f /dev/zero",
  "a program that ignores every signal of the terminal":
    "sh -c 'trap \"\" INT QUIT TSTP HUP TERM; while :; do sleep 600; done'",
  "shell code that ignores them": "trap '' INT QUIT TSTP; while :; do :; done",
};

for (const [name, command] of Object.entries(DEAF)) {
  Deno.test(`an interrupt gives the session back from ${name}`, async () => {
    await using session = await liveSession();
    await session.run("x=1");
    const running = session.run(command);
    await session.shell.interrupt({ timeoutMs: 50, retries: 2 });
    assertEquals((await running).outcome, { kind: "interrupted" });
    assertEquals(await session.print("trap - INT; echo asdf$x"), "asdf1\n");
  });
}

Deno.test("an interrupt while nothing runs does nothing", async () => {
  await using session = await liveSession();
  assertEquals(await session.shell.interrupt(), null);
  assertEquals(await session.print("echo on"), "on\n");
});

Deno.test("a command that takes SIGINT and ends by itself, ends with its own status", async () => {
  await using session = await liveSession();
  const running = session.run("sh -c 'trap \"exit 5\" INT; echo go; while :; do sleep 0.01; done'");
  await new Promise((resolve) => setTimeout(resolve, 100));
  await session.shell.interrupt();
  assertEquals((await running).outcome, exited(5));
});

/** Programs, and what each prints if it ends by itself. */
const INTERRUPTED: readonly string[] = [
  "sleep 600",
  "while :; do :; done",
  "for ((i = 0; i < 1000000000; i++)); do echo -n; done",
  "yes",
  "x=$(sleep 600)",
  "sleep 600 | cat",
  ":",
  "true",
];

Deno.test("of 300 interrupts at random moments none is lost, and none hits another command", async () => {
  await using session = await liveSession();
  await session.run("n=0");
  for (let i = 0; i < 300; i++) {
    const running = session.run(INTERRUPTED[i % INTERRUPTED.length]!, {
      output: { headBytes: 10, tailBytes: 10 },
    });
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 5));
    await session.shell.interrupt();
    const { outcome, restarted } = await running;
    assertEquals(outcome.kind === "interrupted" || outcome.kind === "exited", true, outcome.kind);
    assertEquals(restarted, false);
    const next = await session.run("n=$((n + 1)); echo $n");
    assertEquals([next.outcome, next.text, next.before], [exited(0), `${i + 1}\n`, ""]);
  }
});
