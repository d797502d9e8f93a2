/** Tests of the program's first words: versions, help, and what it does not know. */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { minisandbox, refusal } from "../support/minisandbox.ts";
import { VERSION } from "../../src/version.ts";

Deno.test("--version prints the version", async () => {
  for (const flag of ["--version", "-V"]) {
    const { code, stdout, stderr } = await minisandbox([flag]);
    assertEquals([code, stdout, stderr], [0, `minisandbox ${VERSION}\n`, ""]);
  }
});

Deno.test("--help prints the commands, and each command's own help with examples", async () => {
  const { stdout } = await minisandbox(["--help"]);
  const commands = [...stdout.matchAll(/^ {2}([a-z]+) {2,}/gm)].map(([, name]) => name!);
  for (const name of ["run", "layer", "doctor", "bench"]) assertStringIncludes(stdout, `  ${name}`);
  for (const name of commands) {
    for (const flag of ["--help", "-h"]) {
      const help = await minisandbox([name, flag]);
      assertEquals([name, help.code, help.stderr], [name, 0, ""]);
      assertMatch(help.stdout, new RegExp(`^Usage: minisandbox ${name}`));
      assertMatch(help.stdout, /^Examples?:\n {2}/m);
    }
  }
});

Deno.test("no command at all prints the help as an error", async () => {
  const { code, stdout, stderr } = await minisandbox([]);
  const [usage] = stderr.split("\n");
  assertEquals([code, stdout, usage], [125, "", "Usage: minisandbox COMMAND [OPTION]..."]);
});

Deno.test("an unknown command or option is answered with the nearest known one", async () => {
  assertEquals(refusal(await minisandbox(["rnu"])), [
    125,
    'Cannot read the command line: "rnu" is no known command. ' +
    "Did you mean run? See minisandbox --help.",
  ]);
  assertEquals(refusal(await minisandbox(["run", "--lyer", "a:/b", "--", "true"])), [
    125,
    'Cannot read the command line: "--lyer" is no known option. Did you mean --layer?',
  ]);
  const [, line] = refusal(await minisandbox(["run", "ls", "-l"]));
  assertMatch(line, /^Cannot read the command line: /);
});

Deno.test("what follows -- is the command's, even --help", async () => {
  const { code, stdout } = await minisandbox(["run", "--", "printf", "%s", "--help"]);
  assertEquals([code, stdout], [0, "--help"]);
});
