/** Tests of what a session keeps from one command to the next, and what no command can take from it. */
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { GoneError, UsageError } from "../../src/errors.ts";
import { exited, liveSandbox, liveSession, openIn } from "../support/live_session.ts";

Deno.test("a session keeps variables, functions, aliases, the directory, options and the last status", async () => {
  await using session = await liveSession();
  await session.run("x=1; export y=2; f() { echo f$x; }; alias hi='echo hi'; cd /usr; umask 027");
  assertEquals(await session.print("f; hi; pwd; umask; printenv y"), "f1\nhi\n/usr\n0027\n2\n");
  assertEquals((await session.run("(exit 7)")).outcome, exited(7));
  assertEquals(await session.print("echo $?"), "7\n");
});

Deno.test("two sessions in one sandbox share files, but no variables", async () => {
  await using sandbox = await liveSandbox();
  await using first = await openIn(sandbox);
  await using second = await openIn(sandbox);
  await Promise.all([first.run("x=1; echo a >/tmp/a"), second.run("x=2; echo b >/tmp/b")]);
  assertEquals(await first.print("echo $x; cat /tmp/b"), "1\nb\n");
  assertEquals(await second.print("echo $x; cat /tmp/a"), "2\na\n");
});

Deno.test("commands asked for at once run one after the other, in order", async () => {
  await using session = await liveSession();
  const numbers = Array.from({ length: 20 }, (_, i) => i);
  const said = await Promise.all(numbers.map((i) => session.print(`n=$((n + 1)); echo ${i} $n`)));
  assertEquals(said, numbers.map((i) => `${i} ${i + 1}\n`));
});

/** What would end a shell, and how the command ends instead. */
const SURVIVED: Readonly<Record<string, readonly [command: string, code: number, text?: string]>> =
  {
    "exit 3": ["exit 3", 3],
    "exit in a function in a loop": ["f() { while :; do exit 4; done; }; f; echo no", 4],
    "exit without a number": ["false; exit", 1],
    "logout": ["logout 2", 2],
    "set -e and a failure": ["set -e; false; echo no", 1],
    "set -euo pipefail and a failure": ["set -euo pipefail; false | cat; echo no", 1],
    "set -e and a failure in a function": ["set -e; f() { false; echo no; }; f; echo no", 1],
    "a failure with set -u": [
      "set -u; echo $nothing; echo no",
      1,
      "bash: nothing: unbound variable\n",
    ],
    "exec of what is missing": ["exec nothing", 127, "bash: exec: nothing: not found\n"],
    "break and continue outside of loops": ["break 3; continue", 0],
    "return outside of functions": [
      "return 3",
      2,
      "bash: return: can only `return' from a function or sourced script\n",
    ],
    "a read-only variable": ["readonly r=1; r=2; echo no", 1, "bash: r: readonly variable\n"],
  };

for (const [name, [command, code, text = ""]] of Object.entries(SURVIVED)) {
  Deno.test(`${name} ends the command, not the session`, async () => {
    await using session = await liveSession();
    await session.run("kept=1");
    const said = await session.run(command);
    assertEquals([said.outcome, said.text, said.restarted], [exited(code), text, false]);
    assertEquals(await session.print("set +eu; echo $kept"), "1\n");
  });
}

Deno.test("options that are set stay set", async () => {
  await using session = await liveSession();
  await session.run("set -eu -o pipefail");
  assertEquals((await session.run("false; echo no")).outcome, exited(1));
  assertEquals(await session.print("[[ $- == *e*u* && -o pipefail ]] && echo yes"), "yes\n");
  const { text } = await session.run("set +e; set -x; true");
  assertStringIncludes(text, "+ true\n");
  assertEquals(await session.print("set +x 2>/dev/null; echo quiet"), "+++ set +x\nquiet\n");
});

/** What a session must not mind, as commands; none is to print. */
const HARMLESS: Readonly<Record<string, string>> = {
  "stdout and stderr closed": "exec >&- 2>&-",
  "stdin closed": "exec <&-",
  "every descriptor closed": 'for f in /proc/self/fd/*; do eval "exec ${f##*/}>&-"; done',
  "the terminal in raw mode": "stty raw echo </dev/tty",
  "a prompt and a prompt command": "PS1=prompt PS2=more PROMPT_COMMAND='echo prompt'",
  "job control off": "set +m",
  "no history and POSIX mode": "set -o posix",
  "other field separators and no globs": "IFS=e; set -f",
  "functions in place of builtins":
    "read() { :; }; printf() { :; }; export() { :; }; kill() { :; }",
  "aliases of commands that matter":
    "alias builtin=echo eval=echo printf=echo read=echo exec=echo trap=echo kill=echo unset=echo",
  "a time limit on reading": "TMOUT=1",
  "traps of everything": "trap : INT TERM HUP QUIT ERR EXIT DEBUG RETURN CHLD",
  "an empty PATH": "PATH=",
  "no clobbering": "set -C",
  "case ignored": "shopt -s nocasematch nocaseglob extglob",
  "another locale": "LANG=C LC_ALL=POSIX",
};

for (const [name, command] of Object.entries(HARMLESS)) {
  Deno.test(`a session goes on with ${name}`, async () => {
    await using session = await liveSession();
    assertEquals(await session.print(command), "");
    assertEquals(await session.print("echo one"), "one\n");
    assertEquals((await session.run("echo two >&2; (exit 3)")).outcome, exited(3));
    const timed = await session.run("echo three; while :; do :; done", { timeoutMs: 300 });
    assertEquals([timed.outcome, timed.text], [{ kind: "timedOut" }, "three\n"]);
    assertEquals(await session.print("echo four"), "four\n");
  });
}

Deno.test("what set -e and the user's own ERR trap end, goes on with what was exported", async () => {
  await using session = await liveSession();
  await session.run("cd /usr; export a=1; trap 'echo failed' ERR");
  const said = await session.run("set -e; false");
  assertEquals([said.outcome, said.restarted, said.text], [exited(1), true, "failed\n"]);
  assertEquals(await session.print("pwd; echo $a"), "/usr\n1\n");
});

Deno.test("builtin exit, past the function, leaves directory, exports and umask", async () => {
  await using session = await liveSession();
  await session.run("cd /usr; export a=1; b=2; umask 027");
  const { outcome, restarted } = await session.run("builtin exit 9");
  assertEquals([outcome, restarted], [exited(9), true]);
  assertEquals(await session.print("pwd; echo $a $b; umask"), "/usr\n1\n0027\n");
});

for (
  const [command, outcome, state] of [
    ["exec true", exited(0), "exited with status 0"],
    ["exec sh -c 'exit 5'", exited(5), "exited with status 5"],
    ["kill -9 $$", { kind: "signaled", signal: 9 }, "was ended by signal 9"],
  ] as const
) {
  Deno.test(`${command} ends the session, and it is said how`, async () => {
    await using session = await liveSession();
    const said = await session.run(command);
    assertEquals(said.outcome, outcome);
    assertEquals(said.ended === null, false);
    const gone = await assertRejects(() => session.run("echo"), GoneError);
    assertEquals(gone.message, `Cannot use the session: its shell ${state}`);
    assertEquals(session.shell.ended, said.ended);
  });
}

Deno.test("a shell that is killed while it has nothing to do is told as such", async () => {
  await using session = await liveSession();
  await using other = await openIn(session.sandbox);
  const pid = (await session.print("echo $$")).trim();
  await other.print(`kill -9 ${pid}; while [[ -e /proc/${pid} ]]; do :; done`);
  const gone = await assertRejects(() => session.run("echo"), GoneError);
  assertEquals(gone.message, "Cannot use the session: its shell was ended by signal 9");
});

Deno.test("a session reads the files it is to read first", async () => {
  await using sandbox = await liveSandbox();
  await using first = await openIn(sandbox);
  await first.run("echo 'echo hello; x=5' >/root/.first; echo 'y=$((x+1))' >\"/root/a b'c\"");
  await using session = await openIn(sandbox, { startupSource: ["/root/.first", "/root/a b'c"] });
  assertEquals(session.shell.startup?.outcome, exited(0));
  assertEquals(new TextDecoder().decode(session.shell.startup?.output.head), "hello\n");
  assertEquals(await session.print("echo $x $y"), "5 6\n");
  await using third = await openIn(sandbox, { startupSource: ["/missing"] });
  assertEquals(third.shell.startup?.outcome, exited(1));
  assertEquals(await third.print("echo on"), "on\n");
});

Deno.test("a session has the variables that it is given, and a size", async () => {
  await using session = await liveSession({
    env: { GREETING: "a b", TERM: "vt100" },
    size: { rows: 50, columns: 132 },
  });
  assertEquals(
    await session.print("echo $GREETING $TERM; stty size </dev/tty"),
    "a b vt100\n50 132\n",
  );
  session.shell.resize({ rows: 10, columns: 20 });
  assertEquals(await session.print("stty size </dev/tty"), "10 20\n");
});

/** Texts that are no shell, and what bash says. */
const WRONG: Readonly<Record<string, readonly [text: string, message: string]>> = {
  "a stray parenthesis": [
    "touch /tmp/harm\n)",
    "bash: line 2: syntax error near unexpected token `)'\nbash: line 2: `)'\n",
  ],
  "an open quote": [
    "touch /tmp/harm\necho 'x",
    "bash: line 2: unexpected EOF while looking for matching `''\n",
  ],
  "an open loop": [
    "touch /tmp/harm\nwhile true; do",
    "bash: line 3: syntax error: unexpected end of file\n",
  ],
  "a stray brace": [
    "touch /tmp/harm\n}\ntouch /tmp/harm",
    "bash: line 2: syntax error near unexpected token `}'\nbash: line 2: `}'\n",
  ],
  "a stray esac": [
    "touch /tmp/harm\nesac",
    "bash: line 2: syntax error near unexpected token `esac'\nbash: line 2: `esac'\n",
  ],
  "the end of a case": [
    "touch /tmp/harm;; y) touch /tmp/harm",
    "bash: line 1: syntax error near unexpected token `;;'\nbash: line 1: `touch /tmp/harm;; y) touch /tmp/harm'\n",
  ],
  "a here-document without its end": [
    "touch /tmp/harm\ncat <<EOF\nx",
    "bash: line 3: warning: here-document at line 2 delimited by end-of-file (wanted `EOF')\n",
  ],
};

for (const [name, [text, message]] of Object.entries(WRONG)) {
  Deno.test(`${name} is a syntax error in bash's words, and nothing is executed`, async () => {
    await using session = await liveSession();
    const { outcome } = await session.run(text);
    assertEquals(outcome, { kind: "syntaxError", message });
    assertEquals(await session.print("echo /tmp/ha*"), "/tmp/ha*\n");
  });
}

Deno.test("without a check a text is executed line by line, as bash does", async () => {
  await using session = await liveSession();
  const { outcome, text } = await session.run("echo one\n)", { checkSyntax: false });
  assertEquals(outcome, exited(2));
  assertStringIncludes(text, "one\nbash: eval: line ");
  const glob = "shopt -s extglob\necho /@(usr)";
  assertEquals((await session.run(glob, { checkSyntax: false })).text, "/usr\n");
});

Deno.test("a command with a NUL byte is refused", async () => {
  await using session = await liveSession();
  const error = await assertRejects(async () => await session.run("echo a\0b"), UsageError);
  assertEquals(error.message, "Cannot run the command: it holds a NUL byte");
  assertEquals(await session.print("echo on"), "on\n");
});
