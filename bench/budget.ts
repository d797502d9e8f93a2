/** Measures many cold environments at once under each kind of I/O budget, and who suffers meanwhile. */
import { delay } from "@std/async/delay";
import { type Spread, toSpread } from "../src/app/bench/spread.ts";
import type { Bench } from "./bench.ts";
import { run } from "./context.ts";
import { makeEnvironment, makeVariant } from "./environment.ts";
import { Neighbour } from "./neighbour.ts";
import { PROGRAM } from "./peer/minisandbox.ts";
import type { Case, Report } from "./report.ts";
import { openScratch } from "./scratch.ts";

const USAGE = `Usage: ./dev bench budget [OPTION]...

Starts many sandboxes at once, each with an environment of its own that is not unpacked yet, and
meanwhile measures a sandbox that runs already and the start of others that need nothing unpacked.
Times are milliseconds.

  --environments N  so many at once [64]
  --size MB         the size of each, unpacked [20]
  --fixed SIZE      the fixed budget [256M]
  --how HOW         import: by one process with as many jobs; run: by a process each [import]
  --runs N          so often each [3]
  --scratch DIR     where to unpack to [a new directory in /tmp]
  --json            print JSON`;

/** The budgets that are compared; the last is measured with nothing unpacked at all. */
const IDLE = "idle";

/** So long the neighbours are measured where nothing is unpacked. */
const IDLE_MS = 5000;

interface Wish {
  readonly count: number;
  readonly bytes: number;
  readonly fixed: string;
  readonly how: "import" | "run";
  readonly runs: number;
  readonly parent: string | undefined;
}

/** Milliseconds by budget. */
interface Measured {
  readonly total: number[];
  readonly command: number[];
  readonly start: number[];
}

async function measure(wish: Wish): Promise<Report> {
  await using scratch = await openScratch(wish.parent);
  const environment = await makeEnvironment(scratch.dir, "venv", wish.bytes);
  const archives: string[] = [];
  for (let i = 0; i < wish.count; i++) {
    archives.push(await makeVariant(scratch.dir, `venv${i}`, environment));
  }
  const budgets = ["none", wish.fixed, "auto"];
  const measured = new Map<string, Measured>(
    [...budgets, IDLE].map((budget) => [budget, { total: [], command: [], start: [] }]),
  );
  for (let i = 0; i < wish.runs; i++) {
    const first = i % budgets.length; // none always follows the same one
    for (const budget of [...budgets.slice(first), ...budgets.slice(0, first), IDLE]) {
      const store = `${scratch.dir}/store-${budget}-${i}`;
      const { total, command, start } = measured.get(budget)!;
      await run(["sync", "-f", scratch.dir]);
      await using neighbour = await Neighbour.open(store);
      const begin = performance.now();
      if (budget === IDLE) await delay(IDLE_MS);
      else await unpackAll(store, archives, { budget, how: wish.how });
      total.push(performance.now() - begin);
      const times = await neighbour.end();
      command.push(...times.command);
      start.push(...times.start);
    }
  }
  const what = (budget: string) => {
    if (budget === IDLE) return "nothing is unpacked";
    return `--io-budget ${budget}, ${wish.count} of ${wish.bytes / 1e6} MB by ${wish.how}`;
  };
  const toCase = (name: string, key: keyof Measured, budgets: readonly string[]): Case => ({
    name,
    baseline: "none",
    rows: budgets.map((name) => ({
      name,
      what: withTail(what(name), toSpread(measured.get(name)![key])),
      ...toSpread(measured.get(name)![key]),
    })),
  });
  return {
    machine: {
      kernel: Deno.osRelease(),
      processors: navigator.hardwareConcurrency,
      "user id": Deno.uid()!,
      load: Deno.loadavg()[0]!.toFixed(2),
      runs: wish.runs,
    },
    cases: [
      toCase(`${wish.count} cold environments, total ms`, "total", budgets),
      toCase("a command in a running sandbox, ms", "command", [...budgets, IDLE]),
      toCase("run -- true, ms", "start", [...budgets, IDLE]),
    ],
    skipped: [],
  };
}

function withTail(text: string, { p95 }: Spread): string {
  return `${text}; p95 ${p95.toFixed(1)}`;
}

async function unpackAll(
  store: string,
  archives: readonly string[],
  { budget, how }: { readonly budget: string; readonly how: Wish["how"] },
): Promise<void> {
  const options = ["--quiet", "--store", store, "--io-budget", budget];
  if (how === "import") {
    const jobs = ["--jobs", String(archives.length)];
    const layers = archives.map((archive, i) => `${archive}:/opt/venv${i}`);
    await run([PROGRAM, "layer", "import", ...options, ...jobs, ...layers]);
    return;
  }
  await Promise.all(
    archives.map((archive) =>
      run([PROGRAM, "run", ...options, "-l", `${archive}:/opt/venv`, "--", "true"])
    ),
  );
}

/** Many cold environments at once. */
export const budgetBench: Bench = {
  usage: USAGE,
  options: {
    environments: { kind: "value" },
    size: { kind: "value" },
    fixed: { kind: "value" },
    how: { kind: "value" },
    runs: { kind: "value" },
    scratch: { kind: "value" },
  },
  measure: async ({ environments = "64", size = "20", fixed = "256M", how, runs = "3", scratch }) =>
    await measure({
      count: Number(environments),
      bytes: Number(size) * 1e6,
      fixed,
      how: how === "run" ? "run" : "import",
      runs: Number(runs),
      parent: scratch,
    }),
};
