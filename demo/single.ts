/** One task in one sandbox after another: cold, warm, tests that fail, tests that pass. */
import { check, type Context } from "./context.ts";
import type { Environment } from "./environment.ts";
import { listInodes } from "./layer.ts";
import { runSandbox, Sandbox, type SandboxResult, type Timing } from "./sandbox.ts";
import type { Task } from "./task.ts";
import { countPassed, namesBut, toVerdicts } from "./verdict.ts";

/** What the sandboxes of one task gave. */
export interface SingleResult {
  readonly task: string;
  readonly cold: Run;
  readonly warm: Run;
  /** How many tests passed before and after the fix. */
  readonly passedBefore: number;
  readonly passedAfter: number;
}

/** The times of one run. */
interface Run extends Timing {
  readonly totalMs: number;
  readonly firstOutputMs: number;
}

/** Says `sum` and one checksum of every file below the working directory. */
const SUM = `sum() {
  find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | sed 's/^/sum /'
}`;

/** Shows one task; every claim is checked. */
export async function showTask(context: Context, environment: Environment): Promise<SingleResult> {
  const { task } = environment;
  context.say(`${task.name} ${task.base}: cold and warm run, tests before and after the fix`);
  const layers = [await listInodes(context)];
  const cold = await look(context, environment, "cold");
  layers.push(await listInodes(context));
  const warm = await look(context, environment, "warm");
  layers.push(await listInodes(context));
  const [before = [], afterCold = [], afterWarm = []] = layers;
  const isRight = afterCold.length === before.length + 2 && String(afterWarm) === String(afterCold);
  const claim = `${task.name}: a cold run unpacks both layers, a warm run none`;
  check(context, claim, isRight, `layers by inode: ${layers.join("; then ")}`);
  const passed = await failAndFix(context, environment);
  return { task: `${task.name} ${task.base}`, cold: toRun(cold), warm: toRun(warm), ...passed };
}

/** What the first runs do: a clean repository of one commit, and the package imported from it. */
export function lookCommand(task: Task): string[] {
  const script = `git status --porcelain && git rev-list --count HEAD &&
    python -c 'import ${task.name}; print(${task.name}.__file__)'`;
  return ["sh", "-c", script];
}

/** Says whether the first runs' output is right. */
export function isLookOutput(task: Task, output: string): boolean {
  const lines = output.trimEnd().split("\n");
  return lines.length === 2 && lines[0] === "1" && lines[1]?.startsWith("/testbed/") === true &&
    lines[1].endsWith(`/${task.name}/__init__.py`);
}

async function look(
  context: Context,
  environment: Environment,
  kind: "cold" | "warm",
): Promise<SandboxResult> {
  const { task } = environment;
  const result = await runSandbox(context, environment, { command: lookCommand(task) });
  const isRight = result.code === 0 && isLookOutput(task, result.output);
  const seen = `exit code ${result.code}, ${JSON.stringify(result.output + result.stderr)}`;
  check(context, `${task.name}: the ${kind} run sees a clean repository`, isRight, seen);
  return result;
}

/** Tests in a sandbox without the fix, which stays alive while another one gets it. */
async function failAndFix(
  context: Context,
  environment: Environment,
): Promise<{ passedBefore: number; passedAfter: number }> {
  const { task, patch } = environment;
  const before = new Sandbox(context, environment, {
    command: ["sh", "-c", `${SUM}\n${task.testCommand}\nsum\nread -r _\nsum`],
  });
  const sumBefore = await before.expect("sum");
  const after = await runSandbox(context, environment, {
    command: [
      "sh",
      "-ec",
      `${SUM}\ngit apply --whitespace=nowarn -\n${task.testCommand}\nsum`,
    ],
    input: await Deno.readFile(patch),
  });
  await before.write("the other sandbox is done\n");
  const sumLater = await before.expect("sum");
  const { output } = await before.finish();
  checkTests(context, task, { before: output, after: after.output });
  const [, sumAfter = ""] = after.output.match(/^sum (.*)$/m) ?? [];
  check(context, `${task.name}: the fix changes its own sandbox`, sumAfter !== sumBefore);
  const isUntouched = sumLater === sumBefore;
  check(context, `${task.name}: the fix does not touch the first sandbox`, isUntouched, sumLater);
  return { passedBefore: countPassed(output), passedAfter: countPassed(after.output) };
}

function checkTests(
  context: Context,
  task: Task,
  { before, after }: { readonly before: string; readonly after: string },
): void {
  const count = task.failToPass.length;
  const unfailed = namesBut("failed", toVerdicts(before, task.failToPass));
  check(
    context,
    `${task.name}: ${count} named tests fail before the fix`,
    unfailed.length === 0,
    unfailed.join(", "),
  );
  const unpassed = namesBut("passed", toVerdicts(after, task.failToPass));
  check(
    context,
    `${task.name}: ${count} named tests pass after the fix`,
    unpassed.length === 0,
    unpassed.join(", "),
  );
  if (context.python.version !== task.python) return;
  const wanted = task.passToPassCount;
  const [passedBefore, passedAfter] = [countPassed(before), countPassed(after)];
  check(
    context,
    `${task.name}: the fix breaks no other test`,
    passedBefore >= wanted && passedAfter >= wanted + count,
    `${passedBefore} passed before, ${passedAfter} after, expected ${wanted} and ${wanted + count}`,
  );
}

function toRun({ totalMs, firstOutputMs, timing }: SandboxResult): Run {
  return { totalMs, firstOutputMs, ...timing };
}
