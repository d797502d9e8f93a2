/** Tests of a command's stdin, stdout and stderr. */
import { assert, assertEquals } from "@std/assert";
import { createHash } from "node:crypto";
import { bash, minisandbox, printed, refusal, start } from "../support/minisandbox.ts";
import { identity } from "../support/identity.ts";
import { readUntil } from "../support/read_until.ts";
import { tempDir } from "../support/temp_dir.ts";

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

/** Five megabytes that no encoding of text leaves as they are. */
function noise(): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(5_000_000);
  let x = 1;
  for (let i = 0; i < bytes.length; i++) bytes[i] = x = (x * 73 + 41) & 0xff;
  return bytes;
}

Deno.test("a command reads our stdin only with -i", async () => {
  assertEquals(await printed("cat; echo end", [], { stdin: "secret" }), "end");
  assertEquals(await printed("readlink /proc/self/fd/0"), "/dev/null");
  assertEquals(await printed("cat; echo end", ["-i"], { stdin: "data\n" }), "data\nend");
});

Deno.test("what goes through a command comes out byte for byte", async () => {
  const bytes = noise();
  const args = ["run", "--quiet", "-i", "--", "cat"];
  const { code, stdoutBytes, stderr } = await minisandbox(args, { stdin: bytes });
  assertEquals([code, stderr, stdoutBytes.length], [0, "", bytes.length]);
  assertEquals(sha256(stdoutBytes), sha256(bytes));
});

Deno.test("stdout and stderr are apart, and both whole", async () => {
  const { stdout, stderr, code } = await bash(
    "head -c 3000000 /dev/zero | tr '\\0' o & head -c 3000000 /dev/zero | tr '\\0' e >&2; wait",
  );
  assertEquals([code, stdout.length, stderr.length], [0, 3_000_000, 3_000_000]);
  assertEquals([/^o*$/.test(stdout), /^e*$/.test(stderr)], [true, true]);
});

Deno.test("what a command writes comes at once, not when it ends", async () => {
  const child = start(["run", "--quiet", "-i", "--", "bash", "-c", "echo begun; read x; echo $x"]);
  const [reader, writer] = [child.stdout.getReader(), child.stdin.getWriter()];
  assertEquals(await readUntil(reader, "\n"), "begun\n");
  await writer.write(new TextEncoder().encode("over\n"));
  assertEquals(await readUntil(reader, "\n"), "over\n");
  await writer.close();
  assertEquals((await child.status).code, 0);
  reader.releaseLock();
  await Promise.all([child.stdout.cancel(), child.stderr.cancel()]);
});

Deno.test("a command ends when nobody reads what it writes", async () => {
  const child = start(["run", "--quiet", "--", "yes"]);
  const reader = child.stdout.getReader();
  assert((await readUntil(reader, "\n")).startsWith("y\n"));
  await reader.cancel();
  assertEquals((await child.status).code, 128 + 13);
  await Promise.all([child.stdin.close(), child.stderr.cancel()]);
});

Deno.test("`run -- yes | head -1` ends", async () => {
  const shell = ["bash", "-c", '"$0" "$@" | head -1; echo ${PIPESTATUS[0]}'];
  const { stdout } = await minisandbox(["run", "--quiet", "--", "yes"], { under: shell });
  assertEquals(stdout, "y\n141\n");
});

Deno.test("a command runs to its end where our stdout or stderr is closed", async () => {
  using temp = tempDir();
  const script = "echo out; echo err >&2; exit 3";
  for (const redirection of [">&-", "2>&-", ">&- 2>&-", "<&-", "<&- >&- 2>&-"]) {
    const shell = ["bash", "-c", `"$0" "$@" ${redirection}; echo "code $?" > "$OUT"`];
    const out = `${temp.path}/out`;
    await bash(script, [], { under: shell, env: { OUT: out } });
    assertEquals([redirection, Deno.readTextFileSync(out)], [redirection, "code 3\n"]);
  }
});

Deno.test("a command ends when what it writes cannot be kept, and run says so", async () => {
  const full = ["bash", "-c", 'exec "$0" "$@" >/dev/full'];
  for (const command of [["yes"], ["echo", "short"]]) {
    const result = await minisandbox(["run", "--quiet", "--", ...command], { under: full });
    assertEquals(refusal(result), [
      125,
      "Cannot write stdout: No space left on device (os error 28)",
    ]);
  }
});

Deno.test("a file that stdout is sent to is never reachable inside", async () => {
  using temp = tempDir();
  const file = `${temp.path}/results`;
  Deno.writeTextFileSync(file, "kept\n");
  const shell = ["bash", "-c", '"$0" "$@" >> "$OUT"'];
  const script = "readlink /proc/self/fd/1 | sed 's/[0-9].*//'; : > /proc/self/fd/1; echo new";
  await bash(script, [], { under: shell, env: { OUT: file } });
  assertEquals(Deno.readTextFileSync(file), "kept\npipe:[\nnew\n");
});

Deno.test("an argument and a variable of 120 kB each, and 2 MB in all, reach the command", async () => {
  const big = "x".repeat(120_000);
  const args = Array.from({ length: 8 }, () => big);
  const env = Array.from({ length: 8 }, (_, i) => ["-e", `V${i}=${big}`]).flat();
  const script = "echo $# ${#1} ${#8} ${#V0} ${#V7}";
  const { code, stdout, stderr } = await minisandbox([
    ...["run", "--quiet", ...env, "--", "bash", "-c", script, "name", ...args],
  ]);
  assertEquals([code, stdout, stderr], [0, "8 120000 120000 120000 120000\n", ""]);
});

Deno.test("arguments arrive as they are", async () => {
  const args = ["", " ", "a b", "'", '"', "\\", "\n", "$x", "*", "--", "-l", "é😀"];
  const { stdout } = await minisandbox(["run", "--", "printf", "[%s]", ...args]);
  assertEquals(stdout, args.map((arg) => `[${arg}]`).join(""));
});

Deno.test("a grandchild that holds stdout does not delay the end, and is ended", async () => {
  const { code, stdout } = await bash("sleep 600 & disown; setsid sleep 601 & echo done");
  assertEquals([code, stdout], [0, "done\n"]);
});

Deno.test("what a command reads nothing from is not the host's: its mode and owner stay", async () => {
  const before = Deno.statSync("/dev/null");
  const script = `import os
for change in (lambda: os.fchmod(0, 0o600), lambda: os.fchown(0, 5, 5), lambda: os.utime(0)):
    try: change(); print("changed")
    except OSError as error: print(error.strerror)`;
  const modes = identity() === "root" ? [[], ["--userns", "off"]] : [[]];
  for (const mode of modes) {
    const python = ["run", "--quiet", ...mode, "--", "python3", "-c", script];
    assertEquals((await minisandbox(python)).stdout, "Read-only file system\n".repeat(3));
    const { mode: bits, uid, mtime } = Deno.statSync("/dev/null");
    assertEquals([bits, uid, mtime], [before.mode, before.uid, before.mtime]);
  }
});

Deno.test("a command gets no descriptor but 0, 1 and 2", async () => {
  const { stdout } = await minisandbox(["run", "--quiet", "--", "ls", "/proc/self/fd"], {
    under: ["bash", "-c", 'exec 7</etc/hostname 9>/dev/null; exec "$0" "$@"'],
  });
  assertEquals(stdout, "0\n1\n2\n3\n"); // 3 is what ls reads the directory by
});
