/** Tests of a command on a terminal of its own, with `script` as the terminal that we are on. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { BINARY, minisandbox, printed, sharedStore } from "../support/minisandbox.ts";
import { readUntil } from "../support/read_until.ts";
import { requires } from "../support/requirement.ts";
import { tempDir } from "../support/temp_dir.ts";

const lines = (text: string) => text.replaceAll("\r", "").split("\n");

/** Starts a shell command on a terminal; `$M` in it is the program. */
function onTerminal(command: string, env: Record<string, string> = {}): Deno.ChildProcess {
  return new Deno.Command("script", {
    args: ["--quiet", "--return", "--command", command, "/dev/null"],
    env: { M: BINARY, MINISANDBOX_STORE: sharedStore(), TERM: "xterm", SHELL: "/bin/bash", ...env },
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
}

Deno.test("a command with --tty is on a terminal, which is its controlling one", async () => {
  const script = "test -t 0 && test -t 1 && test -t 2 && tty; echo direct > /dev/tty; stty size";
  const { code, stdout, stderr } = await minisandbox([
    ...["run", "--quiet", "--tty", "--", "bash", "-c", script],
  ]);
  assertEquals([code, stderr, lines(stdout)], [0, "", ["/dev/pts/0", "direct", "24 80", ""]]);
});

Deno.test("a command without --tty has no terminal", async () => {
  assertEquals(
    await printed("tty; (: > /dev/tty) 2>&1 | sed 's/.*: //'"),
    [
      "not a tty",
      "No such device or address",
    ].join("\n"),
  );
});

Deno.test("bash with --tty has job control", async () => {
  const args = ["run", "--quiet", "-t", "--", "bash", "-ic", "sleep 600 & jobs; kill %1; set -o"];
  const { stdout } = await minisandbox(args);
  assertStringIncludes(stdout, "[1]+  Running");
  assert(!stdout.includes("no job control"));
});

Deno.test("a command can open terminals of its own", async () => {
  const script = "import os, pty\n" +
    "for _ in range(20): m, s = pty.openpty(); print(os.ttyname(s), os.isatty(m))";
  const { stdout } = await minisandbox(["run", "--quiet", "--", "python3", "-c", script]);
  const names = Array.from({ length: 20 }, (_, i) => `/dev/pts/${i} True`);
  assertEquals(lines(stdout), [...names, ""]);
});

Deno.test({
  name: "a terminal of ours gives a command its size, its keys and its Ctrl-C",
  ...requires("script"),
  fn: async () => {
    const child = onTerminal(
      `stty rows 33 cols 99; $M run --quiet -it -- bash -c '
        stty size; trap "echo interrupted" INT; read x; echo "got $x"; read y; exit 7'`,
    );
    const [reader, writer] = [child.stdout.getReader(), child.stdin.getWriter()];
    const type = (text: string) => writer.write(new TextEncoder().encode(text));
    await readUntil(reader, "33 99");
    await type("hello\n");
    await readUntil(reader, "got hello");
    await type("\x03");
    await readUntil(reader, "interrupted");
    await writer.close();
    reader.releaseLock();
    await child.stdout.cancel();
    await child.status;
  },
});

Deno.test({
  name: "a command is told when our terminal changes its size",
  ...requires("script"),
  fn: async () => {
    using temp = tempDir();
    Deno.chmodSync(temp.path, 0o777);
    // The sandbox's command says by a file that it listens; the shell beside us changes the size.
    const child = onTerminal(
      `(until test -e $DIR/ready; do read -t 0.02 < /dev/zero; done; stty rows 40 cols 111 < /dev/tty) &
       $M run --quiet -it --bind $DIR:/mnt/dir:rw -- bash -c '
         trap "stty size; exit 5" WINCH; touch /mnt/dir/ready
         while :; do read -t 0.02 < /dev/zero; done'; echo code $?`,
      { DIR: temp.path },
    );
    const reader = child.stdout.getReader();
    const text = await readUntil(reader, "code ");
    assertStringIncludes(text, "40 111");
    reader.releaseLock();
    await Promise.all([child.stdin.close(), child.stdout.cancel(), child.status]);
  },
});

Deno.test({
  name: "our terminal is as before when a command on it has ended",
  ...requires("script"),
  fn: async () => {
    const child = onTerminal(
      'stty -g; $M run --quiet -it -- bash -c "stty raw -echo; kill -9 \\$\\$"; stty -g',
    );
    const { stdout } = await child.output();
    await child.stdin.close();
    const [before, after] = lines(new TextDecoder().decode(stdout)).filter((it) =>
      it.includes(":")
    );
    assertEquals(after, before);
  },
});

Deno.test({
  name: "a terminal of the host's is never reachable through a command's streams",
  ...requires("script"),
  fn: async () => {
    const child = onTerminal(
      '$M run --quiet -i -- bash -c "readlink /proc/self/fd/{0,1,2} | sed s/[0-9].*//"',
    );
    const { stdout } = await child.output();
    await child.stdin.close();
    assertEquals(lines(new TextDecoder().decode(stdout)), ["pipe:[", "pipe:[", "pipe:[", ""]);
  },
});
