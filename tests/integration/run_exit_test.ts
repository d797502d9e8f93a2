/** Tests of what `run` exits with, and of what it says then. */
import { assertEquals } from "@std/assert";
import { bash, minisandbox, refusal } from "../support/minisandbox.ts";
import { onlyAs } from "../support/identity.ts";
import { tempDir } from "../support/temp_dir.ts";

Deno.test("run exits with the command's own code, and says nothing of its own", async () => {
  for (const code of [0, 1, 2, 42, 124, 125, 126, 127, 128, 255]) {
    const { stdout, stderr, ...result } = await bash(`exit ${code}`);
    assertEquals([result.code, stdout, stderr], [code, "", ""]);
  }
});

Deno.test("run exits with 128 and the number of the signal that ended the command", async () => {
  for (const [name, number] of [["TERM", 15], ["KILL", 9], ["SEGV", 11], ["PIPE", 13]] as const) {
    assertEquals((await bash(`kill -${name} $$`)).code, 128 + number);
  }
});

Deno.test("run exits with 124 when the time is over", async () => {
  const { code, stdout, stderr } = await bash("echo begun; exec sleep 600", ["--timeout", "1.5"]);
  assertEquals([code, stdout, stderr], [124, "begun\n", ""]);
});

Deno.test("run exits with 127 for a command that is not there", async () => {
  assertEquals(refusal(await minisandbox(["run", "--", "no-such-command"])), [
    127,
    'Cannot execute "no-such-command": not found in ' +
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  ]);
  assertEquals(refusal(await minisandbox(["run", "--", "/usr/bin/no-such-command"])), [
    127,
    'Cannot execute "/usr/bin/no-such-command": no such file inside, or its interpreter is missing',
  ]);
  assertEquals(refusal(await minisandbox(["run", "--", "/etc/passwd/x"]))[0], 127);
});

Deno.test("run looks a command up in the PATH that the command gets", async () => {
  const args = ["run", "-e", "PATH=/no/where:/usr/no", "--", "ls"];
  assertEquals(refusal(await minisandbox(args)), [
    127,
    'Cannot execute "ls": not found in /no/where:/usr/no',
  ]);
  const relative = ["run", "-w", "/usr/bin", "-e", "PATH=", "--", "true"];
  assertEquals((await minisandbox(relative)).code, 0);
});

Deno.test("run exits with 126 for what is there, but cannot be executed", async () => {
  using temp = tempDir();
  const write = (name: string, text: string, mode: number) => {
    Deno.writeTextFileSync(`${temp.path}/${name}`, text);
    Deno.chmodSync(`${temp.path}/${name}`, mode);
  };
  write("closed", "#!/bin/sh\n", 0o644);
  write("plain", "echo hi\n", 0o755);
  write("lost", "#!/no/such/interpreter\n", 0o755);
  const execute = async (path: string) =>
    refusal(await minisandbox(["run", "--bind", `${temp.path}:/bound`, "--", path]));
  const denied = "EACCES (Permission denied)";
  assertEquals(await execute("/bound/closed"), [126, `Cannot execute "/bound/closed": ${denied}`]);
  assertEquals(await execute("/usr/bin"), [126, `Cannot execute "/usr/bin": ${denied}`]);
  assertEquals(await execute("/bound/plain"), [
    126,
    'Cannot execute "/bound/plain": ENOEXEC (Exec format error). ' +
    "A script needs a first line such as #!/bin/sh.",
  ]);
  assertEquals(await execute("/bound/lost"), [
    127,
    'Cannot execute "/bound/lost": no such file inside, or its interpreter is missing',
  ]);
});

Deno.test("run exits with 125 when the fault is ours or the caller's", async () => {
  assertEquals(refusal(await minisandbox(["run"])), [
    125,
    "Cannot run: there is no command. " +
    "Give it after --, such as: minisandbox run -- bash -c 'echo hi'.",
  ]);
  assertEquals(refusal(await bash("true", ["-w", "/no/such/dir"])), [
    125,
    'Cannot enter the working directory: chdir("/no/such/dir"): ' +
    "ENOENT (No such file or directory). " +
    "Give --workdir a directory that exists inside the sandbox.",
  ]);
});

Deno.test({
  name: "a command's exit code is the same for a user of one id",
  ...onlyAs("single"),
  fn: async () => assertEquals((await bash("id -u; exit 7", ["--user", "agent"])).code, 7),
});
