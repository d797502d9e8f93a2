/** Tests of why a command could not be executed, and of what to do about a refused step. */
import { assertEquals } from "@std/assert";
import { ERRNO, MS } from "../../ffi/mod.ts";
import { commandError } from "../../src/sandbox/command_error.ts";
import type { Program } from "../../src/sandbox/process_plan.ts";
import { remedyFor } from "../../src/sandbox/remedy.ts";
import { flags, step } from "../../src/sandbox/step.ts";

const { ENOENT, ENOTDIR, EACCES, ENOEXEC, EINVAL, EPERM, ENOSPC } = ERRNO;

function explain(
  command: string,
  searchPath: readonly string[],
  ...tried: number[]
): (string | number)[] {
  const program: Program = {
    ...{
      argv: [command],
      env: [],
      searchPath,
      workdir: "/",
      uid: 0,
      gid: 0,
      groups: [],
      pty: null,
      hasStdin: true,
    },
  };
  const { exitCode, message } = commandError(program, tried.map((errno) => -errno));
  return [exitCode, message];
}

Deno.test("a command that is nowhere is 127, by path or by name", () => {
  assertEquals(explain("ls", ["/a", "/b"], ENOENT, ENOTDIR), [
    127,
    'Cannot execute "ls": not found in /a:/b',
  ]);
  assertEquals(explain("/x/ls", [], ENOENT), [
    127,
    'Cannot execute "/x/ls": no such file inside, or its interpreter is missing',
  ]);
});

Deno.test("a command that is there, but cannot be executed, is 126 and named by its path", () => {
  assertEquals(explain("ls", ["/a", "/b", "/c"], ENOENT, EACCES, ENOENT), [
    126,
    'Cannot execute "/b/ls": EACCES (Permission denied)',
  ]);
  assertEquals(explain("./x", [], ENOEXEC), [
    126,
    'Cannot execute "./x": ENOEXEC (Exec format error). ' +
    "A script needs a first line such as #!/bin/sh.",
  ]);
});

Deno.test("a remedy is found by the call, the step and what the kernel said", () => {
  const overlay = step('mount overlay on "/usr"', "mount", [flags(MS, 0)]);
  assertEquals(remedyFor(overlay, EINVAL)?.includes("--upper-dir DIR"), true);
  assertEquals(remedyFor(overlay, EPERM)?.includes("Linux 5.11"), true);
  assertEquals(remedyFor(overlay, ENOSPC), null);
  const unshare = step("make a user and a network namespace", "unshare", []);
  assertEquals(remedyFor(unshare, ENOSPC)?.includes("user.max_net_namespaces"), true);
  const directory = step("enter the working directory", "chdir", []);
  assertEquals(
    remedyFor(directory, ENOENT),
    "Give --workdir a directory that exists inside the sandbox.",
  );
  assertEquals(remedyFor(step("enter it", "chdir", []), ENOENT), null);
});
