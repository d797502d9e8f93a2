/** Tests of subcommands that consist of verbs. */
import { assertEquals, assertRejects } from "@std/assert";
import { toFacts, toTable } from "../../src/cli/table.ts";
import { verb, verbCommand } from "../../src/cli/verb.ts";
import { UsageError } from "../../src/errors.ts";

const heard: string[] = [];
const command = verbCommand({
  name: "thing",
  summary: "",
  help: "",
  verbs: {
    list: verb("list", { options: {}, run: () => void heard.push("list") }),
    show: verb("show NAME", {
      options: { json: { kind: "flag" } },
      least: 1,
      run: ({ options, operands }) => {
        heard.push(`${operands} ${options.json}`);
        return 3;
      },
    }),
  },
});

async function refusal(...argv: string[]): Promise<string> {
  return (await assertRejects(() => command.run(argv), UsageError)).message
    .replace("Cannot read the command line: ", "");
}

Deno.test("a verb gets its options and operands, and gives the exit code", async () => {
  assertEquals(await command.run(["show", "--json", "name"]), 3);
  assertEquals(await command.run(["list"]), 0);
  assertEquals(heard, ["name true", "list"]);
});

Deno.test("a verb that is unknown, or has the wrong operands, is refused with the right one", async () => {
  assertEquals(
    await refusal("lsit"),
    'thing knows no "lsit". Did you mean list? see minisandbox thing --help.',
  );
  assertEquals(
    await refusal(),
    'thing knows no "". Give list or show; see minisandbox thing --help.',
  );
  const remedy = "Give it as: minisandbox thing show NAME.";
  assertEquals(await refusal("show"), `an operand is missing. ${remedy}`);
  assertEquals(await refusal("show", "a", "b"), `"b" is one operand too many. ${remedy}`);
});

Deno.test("toTable() lines up columns, and is nothing without rows", () => {
  assertEquals(toTable(["A", "LONG"], [["wide", "x"], ["y", ""]]), ["A     LONG", "wide  x", "y"]);
  assertEquals(toTable(["A"], []), []);
});

Deno.test("toFacts() lines up values", () => {
  assertEquals(toFacts([["a", "1"], ["long", "2"]]), ["a     1", "long  2"]);
});
