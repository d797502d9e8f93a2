/** The benches, each by its name. */
import { parseOptions } from "../src/cli/option.ts";
import type { Bench } from "./bench.ts";
import { budgetBench } from "./budget.ts";
import { checkRatios, recordRatios } from "./ratio_record.ts";
import { formatReport } from "./report.ts";
import { startBench } from "./start.ts";
import { unpackBench } from "./unpack.ts";

const USAGE = `Usage: ./dev bench [start|unpack|budget] [OPTION]...
       ./dev bench --check | --record

  start   starts of a process and in a live engine, against peers (the default)
  unpack  the first unpacking of an environment, against GNU tar and others
  budget  64 cold environments at once, under each kind of I/O budget

  --check    run the cases of minisandbox bench with few sandboxes, and fail if one is 1.3 times
             slower, as a ratio to its peer, than bench/ratio.json says
  --record   write bench/ratio.json, on an idle machine

Each bench has --json, and says what else it takes by --help.`;

const BENCHES: Readonly<Record<string, Bench>> = {
  start: startBench,
  unpack: unpackBench,
  budget: budgetBench,
};

async function main([first = "", ...rest]: readonly string[]): Promise<void> {
  if (["--help", "-h", "help"].includes(first)) return console.log(USAGE);
  if (first === "--check") return console.log(await checkRatios());
  if (first === "--record") return await recordRatios();
  const isNamed = Object.hasOwn(BENCHES, first);
  if (!isNamed && first !== "" && !first.startsWith("-")) {
    throw new Error(`Cannot measure ${JSON.stringify(first)}: there is no such bench. See --help.`);
  }
  const { usage, options: specs, measure } = isNamed ? BENCHES[first]! : startBench;
  const argv = isNamed ? rest : [first, ...rest].filter((it) => it !== "");
  const common = { json: { kind: "flag" }, help: { kind: "flag" } } as const;
  const { options } = parseOptions({ ...specs, ...common }, argv);
  const { json, help, ...values } = options as Record<string, string | boolean | undefined>;
  if (help === true) return console.log(usage);
  const report = await measure(values as Record<string, string | undefined>);
  console.log(json === true ? JSON.stringify(report, null, 2) : formatReport(report));
}

if (import.meta.main) {
  try {
    await main(Deno.args);
  } catch (error) {
    console.error(`bench: ${error instanceof Error ? error.message : error}`);
    Deno.exit(1);
  }
}
