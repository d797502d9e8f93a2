/** Tests that what a session's commands print is told to the byte, and nothing else. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { exited, liveSession, openIn, toText } from "../support/live_session.ts";

const encode = (text: string) => new TextEncoder().encode(text);

async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}

Deno.test("output is exact: blanks, newlines and their lack, at both ends", async () => {
  await using session = await liveSession();
  for (
    const text of ["", "x", "\n", "\n\n x \n\n", "  x", "a\r\nb\r", "\ta\0b", "\x1b[31m", "%s \\n"]
  ) {
    const octal = [...encode(text)].map((byte) => `\\${byte.toString(8).padStart(3, "0")}`);
    assertEquals(await session.print(`printf '${octal.join("")}'`), text);
  }
  assertEquals(await session.print("# only a comment"), "");
  assertEquals(await session.print(""), "");
});

Deno.test("every byte comes through, and the session lives", async () => {
  await using session = await liveSession();
  const { output } = await session.shell.run(
    `for i in {0..255}; do printf "\\\\$(printf %o $i)"; done; printf '\\xff\\xfe\\n'`,
  );
  const all = Array.from({ length: 256 }, (_, i) => i);
  assertEquals([...output.head], [...all, 0xff, 0xfe, 10]);
  const random = await session.shell.run("head -c 4096 /dev/urandom");
  assertEquals(random.output.totalBytes, 4096);
  assertEquals(await session.print("echo on"), "on\n");
});

Deno.test("a command may hold any byte but NUL", async () => {
  await using session = await liveSession();
  const bytes = Uint8Array.from({ length: 255 }, (_, i) => i + 1)
    .filter((byte) => byte !== 0x27 && byte !== 0x0a);
  const command = Uint8Array.from([...encode("printf %s '"), ...bytes, ...encode("'")]);
  assertEquals([...(await session.shell.run(command)).output.head], [...bytes]);
});

Deno.test("stdout and stderr come in the order in which they were written", async () => {
  await using session = await liveSession();
  const pairs = Array.from({ length: 200 }, (_, i) => `o${i}\ne${i}\n`).join("");
  assertEquals(
    await session.print("for ((i = 0; i < 200; i++)); do echo o$i; echo e$i >&2; done"),
    pairs,
  );
});

Deno.test("here-documents of 5,000 lines, of a line of 64 KiB and of 20 MB arrive whole", async () => {
  await using session = await liveSession();
  const lines = Array.from({ length: 5000 }, (_, i) => `line ${i} $HOME \\ ' "\n`).join("");
  const long = "x".repeat(64 * 1024) + "\n";
  const large = `${"y".repeat(99)}\n`.repeat(200_000);
  for (const text of [lines, long, large]) {
    await session.print(`cat >/tmp/f <<'E O'\n${text}E O`);
    assertEquals(await session.print("sha256sum </tmp/f"), `${await sha256(encode(text))}  -\n`);
  }
  assertEquals(await session.print("cat <<EOF\nx\nEOF"), "x\n");
});

Deno.test("commands inside a here-document's loop read their own input, not ours", async () => {
  await using session = await liveSession();
  assertEquals(await session.print("while read x; do echo $x; cat; done <<E\na\nb\nE"), "a\nb\n");
});

Deno.test("a command that reads its input finds the end of it", async () => {
  await using session = await liveSession();
  assertEquals(await session.print("cat; read x || echo end; wc -c"), "end\n0\n");
});

Deno.test("seven million bytes come whole, or cut with head, tail and count", async () => {
  await using session = await liveSession();
  const all = await session.shell.run("seq 1 1000000");
  assertEquals([all.output.totalBytes, all.output.isTruncated], [6_888_896, false]);
  assertEquals(toText(all.output.head).split("\n").length, 1_000_001);
  const cut = await session.shell.run("seq 1 1000000", {
    output: { headBytes: 4, tailBytes: 8 },
  });
  assertEquals(cut.output, {
    head: encode("1\n2\n"),
    tail: encode("1000000\n"),
    totalBytes: 6_888_896,
    isTruncated: true,
  });
});

Deno.test("a diff of 20 MB ends, without a pager", async () => {
  await using session = await liveSession();
  const { outcome, output } = await session.shell.run(
    `cd /tmp && git init -q d && cd d && seq 1 1500000 >f && git add f && git -c user.name=a \
-c user.email=b commit -qm x && seq 2 2 3000000 >f && git diff --no-color --minimal | head -c 20000000; git diff >/dev/null`,
    { output: { headBytes: 1000, tailBytes: 1000 }, timeoutMs: 120_000 },
  );
  assertEquals(outcome, exited(0));
  assertEquals([output.totalBytes > 10_000_000, output.isTruncated], [true, true]);
});

Deno.test("output is told while it comes, each piece with its place", async () => {
  await using session = await liveSession();
  let text = "";
  const { output } = await session.shell.run("seq 1 100000", {
    output: { headBytes: 0, tailBytes: 10 },
    onOutput: (bytes, offset) => {
      assertEquals(offset, text.length);
      text += toText(bytes);
    },
  });
  assertEquals(output.totalBytes, text.length);
  assertEquals(text, Array.from({ length: 100_000 }, (_, i) => `${i + 1}\n`).join(""));
});

Deno.test("ten thousand commands lose no output and give none to the next", async () => {
  await using session = await liveSession();
  for (let i = 0; i < 10_000; i += 100) {
    const said = await Promise.all(
      Array.from(
        { length: 100 },
        (_, j) => session.print(`printf '%s\\n' ${i + j} >&$((1 + ${j} % 2))`),
      ),
    );
    assertEquals(said, Array.from({ length: 100 }, (_, j) => `${i + j}\n`));
  }
});

Deno.test("outputs of 0 to 1 MB end with their command", async () => {
  await using session = await liveSession();
  for (const size of [0, 1, 4095, 4096, 4097, 65535, 65536, 65537, 1_000_000]) {
    const { output } = await session.shell.run(`head -c ${size} /dev/zero`);
    assertEquals(output.totalBytes, size);
  }
});

Deno.test("what the background prints between commands stands apart", async () => {
  await using session = await liveSession();
  await using other = await openIn(session.sandbox);
  const pid = await session.print("mkfifo /tmp/p; (read </tmp/p; echo late) & printf $!");
  await other.print(`echo >/tmp/p; while [[ -e /proc/${pid} ]]; do :; done`);
  const next = await session.run("echo next");
  assertEquals([next.before, next.text], ["late\n", "next\n"]);
  const last = await session.run("echo last");
  assertEquals([last.before, last.text], ["", "last\n"]);
});

Deno.test("starting and ending jobs says nothing", async () => {
  await using session = await liveSession();
  assertEquals(await session.print("true & sleep 0.01 & wait"), "");
  assertEquals(await session.print("(sleep 10 &) ; echo hi"), "hi\n");
  assertEquals((await session.run("sh -c 'kill -SEGV $$'")).outcome, exited(139));
  assertEquals(await session.print("echo"), "\n");
});

Deno.test("programs see a terminal without colours or cursor, and print no escapes", async () => {
  await using session = await liveSession();
  const text = await session.print(
    "echo $TERM; [[ -t 1 && -t 2 ]] && echo terminal; ls --color=auto /; grep --color=auto root /etc/passwd",
  );
  assertStringIncludes(text, "dumb\nterminal\n");
  assert(!text.includes("\x1b"), text);
});

Deno.test("the locale is C.UTF-8, and nobody warns of it", async () => {
  await using session = await liveSession();
  const text = await session.print("locale; perl -e 1; echo é | wc -m");
  assertMatch(text, /^LANG=C.UTF-8\n[^]*\n2\n$/);
  assert(!/warning/i.test(text), text);
});

Deno.test("git commit without a message ends and says why, git log does not page", async () => {
  await using session = await liveSession();
  await session.print(
    "git init -q /tmp/g; cd /tmp/g; git config user.name a; git config user.email b",
  );
  const { outcome, text } = await session.run("git commit --allow-empty");
  assertEquals(outcome, exited(1));
  assertStringIncludes(text, "Aborting commit due to empty commit message.\n");
  await session.print("for i in {1..60}; do git commit -q --allow-empty -m $i; done");
  assertEquals((await session.print("git log --oneline")).split("\n").length, 61);
  await session.print(
    "git commit --amend -q; git revert --no-edit HEAD; EDITOR=true git rebase -q -i HEAD~2",
  );
});

Deno.test("carriage returns of a patch stay, in both directions", async () => {
  await using session = await liveSession();
  await session.print("cd /tmp; cat >f <<'E'\na\r\nb\r\nE");
  assertEquals(await session.print("cat f; wc -c <f"), "a\r\nb\r\n6\n");
  const patch = "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r\n";
  assertEquals(await session.print(`git apply <<'E'\n${patch}E\ncat f`), "a\r\nc\r\n");
});

Deno.test("sessions that print at once are told each to the byte", async () => {
  await using stack = new AsyncDisposableStack();
  const sessions = await Promise.all(Array.from({ length: 6 }, () => liveSession()));
  for (const session of sessions) stack.use(session);
  const first = (i: number) => (i + 1) * 100_000;
  const printed = await Promise.all(
    sessions.map((session, i) => session.print(`seq ${first(i)} ${first(i + 1) - 1}`)),
  );
  for (const [i, text] of printed.entries()) {
    const numbers = Array.from({ length: 100_000 }, (_, k) => `${first(i) + k}\n`);
    assert(text === numbers.join(""), `session ${i} printed something else`);
  }
});
