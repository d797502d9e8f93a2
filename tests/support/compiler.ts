/** Questions to the C compiler of each machine: it compiles, and the values are read from the object. */
import { type Machine, machine as ownMachine } from "../../ffi/mod.ts";
import { tempDir } from "./temp_dir.ts";

/** The machines whose compilers are asked. */
export const MACHINES = ["x86_64", "aarch64"] as const satisfies readonly Machine[];

/** Gives what a machine's compiler needs to be installed. */
export function compilerOf(machine: Machine): "cc" | "aarch64-cc" {
  return machine === "aarch64" && ownMachine !== "aarch64" ? "aarch64-cc" : "cc";
}

/** Runs a program of the GNU tool chain for a machine: `as`, `objcopy`. */
export async function runTool(
  machine: Machine,
  tool: string,
  args: readonly string[],
): Promise<void> {
  const name = machine === ownMachine ? tool : `${machine}-linux-gnu-${tool}`;
  const { success, stderr } = await new Deno.Command(name, { args: [...args] }).output();
  if (!success) throw new Error(`${name}: ${new TextDecoder().decode(stderr)}`);
}

/** What is to be known, and which headers say it. */
export interface Question {
  readonly includes: readonly string[];
  /** Expressions of integers; a name that is no macro gives null. */
  readonly expressions: readonly string[];
}

/** Gives the values of constants, null for each that the headers do not know. */
export async function askCompiler(
  machine: Machine,
  { includes, expressions }: Question,
): Promise<(bigint | null)[]> {
  using temp = tempDir();
  const isName = (text: string) => /^\w+$/.test(text);
  const value = (text: string) =>
    isName(text)
      ? `#ifdef ${text}\n  {1, (long long) (${text})},\n#else\n  {0, 0},\n#endif`
      : `  {1, (long long) (${text})},`;
  const source = [
    "#define _GNU_SOURCE",
    ...["stddef.h", ...includes].map((name) => `#include <${name}>`),
    '__attribute__((section("minisandbox_answers"))) const long long answers[][2] = {',
    ...expressions.map(value),
    "};\n",
  ].join("\n");
  Deno.writeTextFileSync(`${temp.path}/question.c`, source);
  const [object, binary] = [`${temp.path}/question.o`, `${temp.path}/question.bin`];
  await runTool(machine, "gcc", ["-c", "-o", object, `${temp.path}/question.c`]);
  await runTool(machine, "objcopy", [
    ...["--output-target=binary", "--only-section=minisandbox_answers", object, binary],
  ]);
  const answers = new BigInt64Array(Deno.readFileSync(binary).buffer);
  return expressions.map((_, i) => answers[2 * i] === 0n ? null : answers[2 * i + 1]!);
}
