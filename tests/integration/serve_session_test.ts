/** Tests of sessions through a server: what users of such tools have met, with the right answer. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { answerError, TestServer, type TextAnswer } from "../support/rpc_client.ts";

interface Ran {
  readonly outcome: {
    readonly kind: string;
    readonly code: number | null;
    readonly signal: string | null;
    readonly message: string | null;
  };
  readonly output: TextAnswer;
  readonly background: TextAnswer;
  readonly restarted: boolean;
  readonly ended: boolean;
}

interface Exchange {
  readonly output: { readonly text: string };
  readonly match: { readonly index: number; readonly text: string } | null;
  readonly timedOut: boolean;
  readonly result: Ran | null;
}

/** A session in a sandbox of a server. */
class TestSession implements AsyncDisposable {
  readonly server: TestServer;
  readonly sandbox: string;
  readonly name: string;

  private constructor(server: TestServer, sandbox: string, name: string) {
    this.server = server;
    this.sandbox = sandbox;
    this.name = name;
  }

  static async open(params: object = {}, create: object = {}): Promise<TestSession> {
    const server = new TestServer();
    const sandbox = await server.create(create);
    await server.call("session.create", { sandbox, ...params });
    return new TestSession(server, sandbox, "default");
  }

  async another(name: string): Promise<TestSession> {
    await this.server.call("session.create", { sandbox: this.sandbox, session: name });
    return new TestSession(this.server, this.sandbox, name);
  }

  call<T>(method: string, params: object = {}): Promise<T> {
    const { sandbox, name: session } = this;
    return this.server.call<T>(`session.${method}`, { sandbox, session, ...params });
  }

  run(command: string, more: object = {}): Promise<Ran> {
    return this.call<Ran>("run", { command, ...more });
  }

  /** Runs it, and gives its status and what it printed. */
  async told(command: string, more: object = {}): Promise<[number | null, string]> {
    const { outcome, output } = await this.run(command, more);
    return [outcome.code, output.text];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.end();
  }
}

Deno.test("a session keeps directory, variables, functions and jobs; two are apart", async () => {
  await using session = await TestSession.open();
  assertEquals(await session.told("cd /tmp; x=1; export y=2; f() { echo f$x; }"), [0, ""]);
  assertEquals(await session.told("pwd; f; echo $y"), [0, "/tmp\nf1\n2\n"]);
  const other = await session.another("other");
  assertEquals(await other.told("pwd; echo [$x$y]"), [0, "/\n[]\n"]);
  const again = await answerError(
    session.server.call("session.create", { sandbox: session.sandbox }),
  );
  assertMatch(again.message, /the sandbox has one of this name/);
  const { sessions } = await session.call<{ sessions: unknown[] }>("list", { session: undefined });
  assertEquals(sessions.length, 2);
});

Deno.test("two sandboxes have sessions of the same name at the same time", async () => {
  await using server = new TestServer();
  const ids = await Promise.all([server.create(), server.create()]);
  await Promise.all(
    ids.map((sandbox) => server.call("session.create", { sandbox, session: "main" })),
  );
  const ran = await Promise.all(
    ids.map((sandbox, i) =>
      server.call<Ran>("session.run", {
        sandbox,
        session: "main",
        command: `echo ${i} > /tmp/f; cat /tmp/f`,
      })
    ),
  );
  assertEquals(ran.map(({ output }) => output.text), ["0\n", "1\n"]);
});

Deno.test("a deadline gives what was printed, kills all that was started, and keeps the session", async () => {
  await using session = await TestSession.open();
  await session.run("cd /tmp; x=5");
  const ran = await session.run("seq 10; (setsid sleep 1000 &); sleep 1000 & sleep 1000", {
    timeoutMs: 500,
  });
  assertEquals(ran.outcome.kind, "timedOut");
  assertEquals(ran.output.text.split("\n").length, 11);
  assertEquals(await session.told("pwd; echo $x; pgrep -x sleep"), [1, "/tmp\n5\n"]);
  const late = await session.run("yes", {
    timeoutMs: 500,
    keep: { headBytes: 100, tailBytes: 100 },
  });
  assertEquals([late.outcome.kind, late.output.text.slice(0, 4)], ["timedOut", "y\ny\n"]);
  assert(late.output.omittedBytes > 0 && late.output.tail!.text.length <= 100);
  assertEquals(await session.told("echo alive"), [0, "alive\n"]);
});

Deno.test("silence has a deadline of its own, and none unless it is asked for", async () => {
  await using session = await TestSession.open();
  const noisy = "for i in 1 2 3 4 5 6; do echo $i; sleep 0.5; done";
  assertEquals((await session.run(noisy, { noOutputMs: 2500 })).outcome.code, 0);
  const silent = await session.run("echo a; sleep 1000", { noOutputMs: 500 });
  assertEquals([silent.outcome.kind, silent.output.text], ["noOutput", "a\n"]);
  assertEquals(await session.told("sleep 3; echo done", { timeoutMs: 60_000 }), [0, "done\n"]);
});

Deno.test("output is exact: blanks, carriage returns, no last newline, bytes that are no text", async () => {
  await using session = await TestSession.open();
  assertEquals(await session.told("printf '\\n  a\\r\\nb'"), [0, "\n  a\r\nb"]);
  const { output } = await session.run("printf '\\xff\\xfe\\n'", { base64: true });
  assertEquals([output.text, output.lossy, output.base64], ["\ufffd\ufffd\n", true, "//4K"]);
  await session.run("head -c 4096 /dev/urandom");
  assertEquals(await session.told("echo alive"), [0, "alive\n"]);
  assertEquals(
    await session.told("printf 'a\\r\\nb\\r\\n' > /tmp/f; cat /tmp/f | od -c | head -1"),
    [
      0,
      "0000000   a  \\r  \\n   b  \\r  \\n\n",
    ],
  );
});

Deno.test("20 MB of output come whole or marked, and a million lines are counted", async () => {
  await using session = await TestSession.open();
  const whole = await session.run("seq 1 1000000", {
    keep: { headBytes: 8_000_000, tailBytes: 0 },
  });
  assertEquals([whole.output.totalBytes, whole.output.omittedBytes], [6_888_896, 0]);
  const cut = await session.run("head -c 20000000 /dev/zero | tr '\\0' x");
  assertEquals(cut.output.totalBytes, 20_000_000);
  assertEquals(cut.output.omittedBytes, 20_000_000 - 2 * 2 ** 20);
});

Deno.test("here-documents of any kind and size arrive as they are", async () => {
  await using session = await TestSession.open();
  assertEquals(await session.told("cat <<'E O'\nx\nE O"), [0, "x\n"]);
  assertEquals(await session.told("cat <<EOF\nx\nEOF"), [0, "x\n"]);
  const text = Array.from({ length: 5000 }, (_, i) => `line ${i} $x \\`).join("\n") + "\n";
  await session.run(`cat > /tmp/f <<'END'\n${text}END`);
  const digest = new Uint8Array(
    await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)),
  );
  assertEquals(await session.told("sha256sum < /tmp/f"), [0, `${digest.toHex()}  -\n`]);
  const long = "y".repeat(65_536);
  assertEquals(await session.told(`cat <<E | wc -c\n${long}\nE`), [0, "65537\n"]);
  const open = await session.run("cat <<NEVER\nx", { timeoutMs: 5000 });
  assert(open.outcome.kind === "syntaxError" || open.outcome.kind === "exited", open.outcome.kind);
  assertEquals(await session.told("echo alive"), [0, "alive\n"]);
});

Deno.test("a syntax error is told in bash's words and runs nothing", async () => {
  await using session = await TestSession.open();
  const { outcome } = await session.run("touch /tmp/ran; if then");
  assertEquals(outcome.kind, "syntaxError");
  assertMatch(outcome.message!, /syntax error near unexpected token `then'/);
  assertEquals(await session.told("ls /tmp/ran 2>/dev/null; echo $?"), [0, "2\n"]);
});

Deno.test("what would end a shell ends a command: set -e, exit, unset variables", async () => {
  await using session = await TestSession.open();
  assertEquals((await session.run("set -euo pipefail; false")).outcome.code, 1);
  assertEquals(await session.told("echo alive"), [0, "alive\n"]);
  assertEquals((await session.run("set +eu; exit 3")).outcome.code, 3);
  assertEquals(await session.told("echo alive"), [0, "alive\n"]);
});

Deno.test("a shell that is gone is told as such, and a new one can be had", async () => {
  for (const command of ["exec true", "kill -9 $$"]) {
    await using session = await TestSession.open();
    const ran = await session.run(command);
    assertEquals(ran.ended, true);
    const error = await answerError(session.run("echo late"));
    assertEquals(error.data.kind, "gone");
    assertMatch(error.message, /its shell (exited with status 0|was ended by signal 9)/);
    await session.call("create");
    assertEquals(await session.told("echo new"), [0, "new\n"]);
  }
});

Deno.test("closing all descriptors, raw terminals and ignored signals cost no session", async () => {
  await using session = await TestSession.open();
  await session.run("x=7; exec 1>&- 2>&- 0<&-");
  assertEquals((await session.run("echo [$x]")).ended, false);
  await session.run("stty raw -echo; printf '\\e[?1049h'");
  assertEquals(await session.told("printf 'a\\nb\\n'"), [0, "a\nb\n"]);
  const stubborn = await session.run("trap '' INT TSTP QUIT; while :; do :; done", {
    timeoutMs: 300,
  });
  assertEquals(stubborn.outcome.kind, "timedOut");
  assertEquals((await session.told("echo alive"))[1], "alive\n");
});

Deno.test("a program that reads finds the end of its input, and never our own messages", async () => {
  await using session = await TestSession.open();
  assertEquals(await session.told("cat", { timeoutMs: 5000 }), [0, ""]);
  assertEquals(await session.told("while read x; do cat; done <<E\na\nb\nE"), [0, "b\n"]);
  assertEquals(await session.told("read x; echo [$x]", { timeoutMs: 5000 }), [0, "[]\n"]);
});

Deno.test("an interactive program is waited for, typed into, and ended", async () => {
  await using session = await TestSession.open();
  const expect = [">>> "];
  const start = await session.call<Exchange>("start", {
    command: "python3 -q",
    expect,
    timeoutMs: 20_000,
  });
  assertEquals(start.match, { index: 0, text: ">>> " });
  for (const [input, answer] of [["1+1", "2\n"], ["2+2", "4\n"], ["'ä'", "'ä'\n"]] as const) {
    const got = await session.call<Exchange>("send", {
      input: `${input}\n`,
      expect,
      timeoutMs: 20_000,
    });
    assertEquals(got.output.text, answer);
  }
  const refused = await answerError(session.run("echo no"));
  assertMatch(refused.message, /an interactive program has the session's terminal/);
  const regex = await session.call<Exchange>("send", {
    input: "print('a1b')\n",
    expect: [{ regex: "[0-9]" }],
    timeoutMs: 20_000,
  });
  assertEquals(regex.match!.text, "1");
  const quit = await session.call<Exchange>("send", {
    input: "exit(4)\n",
    quit: true,
    timeoutMs: 20_000,
  });
  assertEquals(quit.result!.outcome.code, 4);
  assertEquals(await session.told("echo alive"), [0, "alive\n"]);
});

Deno.test("an interrupt gives the session back, and belongs to what it hit", async () => {
  await using session = await TestSession.open();
  for (let i = 0; i < 10; i++) {
    const running = session.run(`echo ${i}; sleep 1000`);
    await session.server.run(session.sandbox, "until pgrep -x sleep >/dev/null; do :; done");
    await session.call("interrupt");
    const { outcome, output } = await running;
    assertEquals([outcome.kind, output.text], ["interrupted", `${i}\n`]);
    assertEquals(await session.told("echo asdf"), [0, "asdf\n"]);
  }
  assertEquals(await session.call("interrupt"), { exchange: null }); // nothing runs
});

Deno.test("nothing asks a person: editors and pagers end by themselves, no escapes are printed", async () => {
  await using session = await TestSession.open();
  const setup =
    "cd /tmp && git init -q r && cd r && git config user.email a@b && git config user.name a";
  await session.run(`${setup} && echo x > f && git add f`);
  const { outcome } = await session.run("git commit", { timeoutMs: 20_000 });
  assertEquals(outcome.kind, "exited");
  await session.run("git commit -qm x && ls --color=auto; git log | cat; git diff");
  const { output } = await session.run("git log; ls --color=auto; echo $TERM");
  assert(!output.text.includes("\x1b"), output.text);
  assertMatch(output.text, /dumb\n$/);
  assertEquals(await session.told("locale 2>&1 >/dev/null; perl -e 1 2>&1"), [0, ""]);
});

Deno.test("orphans are reaped: after a thousand no zombie is left", async () => {
  await using session = await TestSession.open();
  await session.run("for i in {1..1000}; do (true &); done");
  const zombies = "cat /proc/[0-9]*/stat 2>/dev/null | grep -c ') Z '";
  assertEquals(await session.told(`until [ "$(${zombies})" = 0 ]; do :; done; ${zombies}`), [
    1,
    "0\n",
  ]);
});

Deno.test("a background job's end is told by wait, and what it prints late comes apart", async () => {
  await using session = await TestSession.open();
  await session.run("nonexistent_cmd 2>/dev/null & p=$!");
  assertEquals((await session.run("wait $p")).outcome.code, 127);
  await session.run("(until [ -e /tmp/go ]; do :; done; echo late; touch /tmp/gone) &");
  await session.server.run(session.sandbox, "touch /tmp/go; until [ -e /tmp/gone ]; do :; done");
  const { output, background } = await session.run("echo now");
  assertEquals([output.text, background.text], ["now\n", "late\n"]);
});

Deno.test("a session of a user starts from files, a directory and variables", async () => {
  await using session = await TestSession.open(
    {
      cwd: "/tmp",
      env: { E: "1" },
      startupSources: ["/etc/profile"],
      terminal: { rows: 30, columns: 90 },
    },
  );
  assertEquals(await session.told("pwd; echo $E; stty size </dev/tty; id -u"), [
    0,
    "/tmp\n1\n30 90\n0\n",
  ]);
  const missing = await session.server.call<{ startup: Ran }>("session.create", {
    sandbox: session.sandbox,
    session: "b",
    startupSources: ["/nowhere"],
  });
  assertEquals(missing.startup.outcome.code, 1);
});

Deno.test("what a command prints is streamed with offsets", async () => {
  await using session = await TestSession.open();
  const ran = await session.run("echo one; sleep 0.2; echo two", { streamToken: 7 });
  assertEquals(ran.output.text, "one\ntwo\n");
  const pieces = session.server.notified.filter(({ method }) => method === "session.output");
  assertEquals(pieces.map(({ params }) => [params["token"], params["offset"], params["text"]]), [
    [7, 0, "one\n"],
    [7, 4, "two\n"],
  ]);
});

Deno.test("a cancelled command is interrupted, one that has not begun is left out", async () => {
  await using session = await TestSession.open();
  const first = new AbortController();
  const second = new AbortController();
  const { server, sandbox } = session;
  const running = server.call(
    "session.run",
    { sandbox, command: "touch /tmp/a; sleep 1000" },
    first.signal,
  );
  const queued = server.call("session.run", { sandbox, command: "touch /tmp/b" }, second.signal);
  await server.run(sandbox, "until [ -e /tmp/a ]; do :; done");
  second.abort();
  first.abort();
  for (const call of [running, queued]) {
    assertEquals((await answerError(call)).data.kind, "cancelled");
  }
  assertEquals(await session.told("ls /tmp/b 2>/dev/null; echo $?"), [0, "2\n"]);
});

Deno.test("a session can be closed in any state, and closed again", async () => {
  await using session = await TestSession.open();
  const running = session.run("setsid sleep 1000 & sleep 1000");
  running.catch(() => {});
  await session.server.run(session.sandbox, "until pgrep -x sleep >/dev/null; do :; done");
  assertEquals(await session.call("close"), { closed: true });
  assertEquals((await answerError(running)).data.kind, "gone");
  assertEquals(await session.call("close"), { closed: false });
  assertEquals((await answerError(session.run("true"))).data.kind, "notFound");
  assertEquals((await session.server.run(session.sandbox, "pgrep -x sleep")).stdout.text, "");
});
