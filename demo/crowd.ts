/** Many sandboxes at once: each fixes, marks and tests its own copy of a repository. */
import { run } from "./child.ts";
import { check, type Context } from "./context.ts";
import type { Environment } from "./environment.ts";
import { listInodes } from "./layer.ts";
import { Sandbox, type SandboxResult } from "./sandbox.ts";
import { namesBut, toVerdicts } from "./verdict.ts";

/** What the sandboxes gave together. */
export interface CrowdResult {
  readonly count: number;
  readonly unpackMs: Spread;
  readonly prepareMs: Spread;
  readonly firstOutputMs: Spread;
  /** From the first start to the last end. */
  readonly totalMs: number;
  /** What one sandbox wrote, on average, while all lived. */
  readonly diskBytesEach: number;
  /** What all environments take in the store, once. */
  readonly storeBytes: number;
}

/** The middle and the end of many measurements. */
export interface Spread {
  readonly median: number;
  readonly max: number;
}

/** The name of the files that every sandbox writes where the host must never see them. */
export const CANARY = `minisandbox-demo-${crypto.randomUUID()}`;

/**
 * What each sandbox does, in three parts: after the first, all have changed their copy; after
 * the second, all have tested it and still live.
 */
const SCRIPT = `
echo started
git apply --whitespace=nowarn /fix.patch
module=$(python -c "import $PACKAGE; print($PACKAGE.__file__)")
printf '\\ndemo_mark = "%s"\\n' "$MARK" >> "$module"
mkdir -p "$HOST_HOME"
touch "/usr/local/bin/$CANARY" "/etc/$CANARY" "$HOST_HOME/$CANARY"
echo changed
read -r _
echo "files $(grep -rh --include='*.py' '^demo_mark = ' . | tr '\\n' ' ')"
echo "import $(python -c "import $PACKAGE; print($PACKAGE.demo_mark)")"
status=0
python -m pytest -q -rA --color=no -p no:cacheprovider "$@" || status=$?
echo "tested $status"
read -r _
`;

/** Runs the sandboxes, spread evenly over the environments; every claim is checked. */
export async function showCrowd(
  context: Context,
  environments: readonly Environment[],
): Promise<CrowdResult> {
  const { count } = context;
  context.say(`${count} sandboxes at once, each changes and tests its own copy`);
  const storeBytes = await diskUse(context.store);
  const layers = await listInodes(context);
  const startedAt = performance.now();
  const members = Array.from({ length: count }, (_, i) => start(context, environments, i));
  const sandboxes = members.map(({ sandbox }) => sandbox);
  await Promise.all(sandboxes.map((sandbox) => sandbox.expect("changed")));
  await Promise.all(sandboxes.map((sandbox) => sandbox.write("all have changed\n")));
  await Promise.all(sandboxes.map((sandbox) => sandbox.expect("tested")));
  const diskBytesEach = (await diskUse(context.store) - storeBytes) / count;
  await Promise.all(sandboxes.map((sandbox) => sandbox.write("all have tested\n")));
  const results = await Promise.all(sandboxes.map((sandbox) => sandbox.finish()));
  const totalMs = performance.now() - startedAt;
  checkResults(context, members.map((member, i) => ({ ...member, result: results[i]! })));
  const layersAfter = await listInodes(context);
  const claim = `${count} sandboxes at once: none unpacks a layer again`;
  check(context, claim, String(layersAfter) === String(layers), `layers by inode: ${layersAfter}`);
  return {
    count,
    unpackMs: toSpread(results.map(({ timing }) => timing.unpackMs)),
    prepareMs: toSpread(results.map(({ timing }) => timing.prepareMs)),
    firstOutputMs: toSpread(results.map(({ firstOutputMs }) => firstOutputMs)),
    totalMs,
    diskBytesEach,
    storeBytes,
  };
}

/** Takes the middle and the end of some numbers. */
export function toSpread(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length >> 1;
  const upper = sorted[half] ?? 0;
  const lower = sorted.length % 2 === 0 ? sorted[half - 1] ?? 0 : upper;
  return { median: (lower + upper) / 2, max: sorted.at(-1) ?? 0 };
}

interface Member {
  readonly environment: Environment;
  readonly mark: string;
  readonly sandbox: Sandbox;
}

function start(context: Context, environments: readonly Environment[], index: number): Member {
  const environment = environments[index % environments.length]!;
  const { task, patch } = environment;
  const mark = `sandbox-${index}`;
  const hostHome = Deno.env.get("HOME") ?? "/root";
  const sandbox = new Sandbox(context, environment, {
    command: ["sh", "-euc", SCRIPT, "sh", ...task.failToPass],
    env: { MARK: mark, PACKAGE: task.name, HOST_HOME: hostHome, CANARY },
    binds: [`${patch}:/fix.patch`],
  });
  return { environment, mark, sandbox };
}

function checkResults(
  context: Context,
  members: readonly (Member & { readonly result: SandboxResult })[],
): void {
  const wrong = members.flatMap(({ environment: { task }, mark, result: { code, output } }) => {
    const unpassed = namesBut("passed", toVerdicts(output, task.failToPass));
    const lines = output.split("\n");
    const isOwn = lines.includes(`files demo_mark = "${mark}" `) &&
      lines.includes(`import ${mark}`);
    return [
      ...(code === 0 && unpassed.length === 0 ? [] : [`${mark} exit ${code} ${unpassed[0] ?? ""}`]),
      ...(isOwn ? [] : [`${mark} sees ${lines.filter((line) => /^(files|import) /.test(line))}`]),
    ];
  });
  const claim = `${members.length} sandboxes at once: each sees its own change only, tests pass`;
  check(context, claim, wrong.length === 0, wrong.join("; "));
}

/** Counts the bytes that a folder takes on disk, as far as it may be read. */
async function diskUse(folder: string): Promise<number> {
  const { stdout } = await run(["du", "-s", "--block-size=1", folder]);
  return Number.parseInt(stdout, 10);
}
