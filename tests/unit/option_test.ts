/** Tests of the command line's options. */
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { parseOptions } from "../../src/cli/option.ts";
import { UsageError } from "../../src/errors.ts";

const specs = {
  layer: { kind: "list", alias: "l" },
  env: { kind: "list", alias: "e" },
  store: { kind: "value" },
  tty: { kind: "flag", alias: "t" },
  interactive: { kind: "flag", alias: "i" },
} as const;

const refusal = (...argv: string[]) =>
  assertThrows(() => parseOptions(specs, argv), UsageError).message;

Deno.test("parseOptions() reads long and short options, lists, flags, operands and what follows --", () => {
  const { options, operands, rest } = parseOptions(specs, [
    ...["-l", "a:/b", "--layer=c:/d", "-e", "A=1=2", "--env", "B", "--store", "/s"],
    ...["-ti", "7", "x", "--", "ls", "--store", "-l"],
  ]);
  assertEquals(options.layer, ["a:/b", "c:/d"]);
  assertEquals(options.env, ["A=1=2", "B"]);
  assertEquals([options.store, options.tty, options.interactive], ["/s", true, true]);
  assertEquals(operands, ["7", "x"]);
  assertEquals(rest, ["ls", "--store", "-l"]);
});

Deno.test("parseOptions() gives what was not given as nothing", () => {
  const { options, operands, rest } = parseOptions(specs, []);
  assertEquals(options, {
    ...{ layer: [], env: [], store: undefined, tty: false, interactive: false },
  });
  assertEquals([operands, rest], [[], null]);
});

Deno.test("parseOptions() keeps values as they are typed", () => {
  const { options } = parseOptions(specs, ["--store", "007", "-e", "X= a,b\n", "--env=E="]);
  assertEquals([options.store, options.env], ["007", ["X= a,b\n", "E="]]);
});

Deno.test("parseOptions() names the nearest known option", () => {
  assertStringIncludes(
    refusal("--lyer", "x"),
    '"--lyer" is no known option. Did you mean --layer?',
  );
  assertStringIncludes(refusal("--lyer=x"), "Did you mean --layer?");
  assertStringIncludes(refusal("-x"), '"-x" is no known option. See --help');
  assertStringIncludes(refusal("--qwertyuiop"), "See --help");
  assertStringIncludes(refusal("--no-tty"), '"--no-tty" is no known option');
});

Deno.test("parseOptions() refuses a missing value and a single option given twice", () => {
  assertStringIncludes(refusal("--store"), "--store lacks its value. Give it as --store=VALUE");
  assertStringIncludes(refusal("--store", "--tty"), "--store lacks its value");
  assertStringIncludes(refusal("-l"), "--layer lacks its value");
  assertStringIncludes(
    refusal("--store", "a", "--store=b"),
    "--store is given twice. Give it once.",
  );
});
