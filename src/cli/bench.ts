/** `minisandbox bench`: measures on this host. */
import { resolve } from "@std/path/resolve";
import type { BenchReport } from "../app/bench/measure.ts";
import { HostError, messageOf, UsageError } from "../errors.ts";
import { ENGINE_HELP, engineMain } from "./bench/engine.ts";
import { BenchProgress } from "./bench/progress.ts";
import { measureTable, reportFoot } from "./bench/table.ts";
import { parseNumber } from "./bench/whole_number.ts";
import { parseOptions } from "./option.ts";
import { onStderr } from "./progress.ts";
import { Relay } from "./relay.ts";
import { parseSize } from "./size.ts";
import type { Subcommand } from "./subcommand.ts";

const HELP = `Usage: minisandbox bench CASE... [OPTION]...
       minisandbox bench engine [OPTION]... [-- COMMAND [ARGUMENT]...]

Measures minisandbox and the systems that are on this host, in turns, on one environment that is
made for it: a venv and a git repository. Every answer is compared; a wrong one is an error. A
ratio is minisandbox's to the other's: below 1 it is better.

Cases:
  start     N sandboxes until the bash in each has answered
  prepare   N environments from caches until each shell gave git status and imported its package
  process   a program in a sandbox that is there
  session   a shell as its users drive one: echo hi, its opening, much output
  unpack    an archive to files
  fork      a copy of a live sandbox, until it has shown what the original wrote
  memory    what an idle sandbox with a bash takes
  disk      what sandboxes that write take beside their environment
  soak      sandboxes made and ended in a row; nothing may stay
  all       all of these
  engine    the phases of a sandbox in a live engine, and no other system: see engine --help

Systems: bare (the commands without a sandbox), bwrap, crun, runc, docker, podman, overlay
(the mounts alone of what copies on write), untar (the published recipe: root only); pexpect,
pexpect-fast; tar. One that is missing here is skipped, and named. Docker's daemon must run.

Options:
      --counts N,N     so many sandboxes [1,16,64,128,256; memory and disk 16; soak 1000]
      --runs N         so often each [5; 3 from 64 sandboxes on]
      --peers NAME,... only these beside minisandbox [all that are here]
      --at-once N      so many are being made at the same time [4 for each processor]
      --size SIZE      the environment's size [20M]
      --cold           start, prepare and unpack with a cold page cache too: root, and all others
                       on this host feel it
      --scratch DIR    where all is made [a new directory in $TMPDIR or /tmp]
      --report FILE    write a page with charts: one file, for any browser
      --json           print JSON instead of tables
      --help           print this

Examples:
  minisandbox bench start process
  minisandbox bench prepare --counts 1,16,64 --peers bwrap,bare --report bench.html
  minisandbox bench all --cold --scratch /var/tmp --json`;

/** The subcommand. */
export const benchCommand: Subcommand = {
  name: "bench",
  summary: "measure on this host",
  help: HELP,
  run: async (argv) => {
    const [name, ...rest] = argv;
    if (name !== "engine") return await bench(argv);
    if (!rest.includes("--help")) return await engineMain(rest);
    console.log(ENGINE_HELP);
    return 0;
  },
};

async function bench(argv: readonly string[]): Promise<number> {
  const { options, operands, rest } = parseOptions({
    counts: { kind: "value" },
    runs: { kind: "value" },
    peers: { kind: "value" },
    "at-once": { kind: "value" },
    size: { kind: "value" },
    cold: { kind: "flag" },
    scratch: { kind: "value" },
    report: { kind: "value" },
    json: { kind: "flag" },
  }, argv);
  if (operands.length === 0 || rest !== null) {
    throw new UsageError("Cannot measure: there is no case, or a --", {
      remedy: "Name one, such as start; see: minisandbox bench --help.",
    });
  }
  // Not read by a bench of the engine alone.
  const { runBench } = await import("../app/bench/bench.ts");
  const { CASES } = await import("../app/bench/case/mod.ts");
  const { counts, runs, peers, scratch, report: page } = options;
  using relay = new Relay(false);
  using progress = new BenchProgress(onStderr());
  const report = await runBench({
    cases: operands.includes("all") ? CASES.map(({ name }) => name) : operands,
    counts: counts?.split(",").map((text) => parseNumber("counts", text)) ?? null,
    runs: runs === undefined ? null : parseNumber("runs", runs),
    peers: peers?.split(",").filter((name) => name !== "") ?? null,
    atOnce: parseNumber("at-once", options["at-once"] ?? `${4 * navigator.hardwareConcurrency}`),
    environmentBytes: parseSize(options.size ?? "20M"),
    isCold: options.cold,
    scratch: scratch === undefined ? null : resolve(scratch),
    command: ["minisandbox", "bench", ...argv].join(" "),
  }, {
    signal: relay.signal,
    onNote: progress.note,
    onTurn: progress.turn,
    onMeasure: (measure) => {
      progress.clear();
      if (!options.json) console.log(`${measureTable(measure)}\n`);
    },
  });
  progress.clear();
  console.log(options.json ? JSON.stringify(report, null, 2) : reportFoot(report));
  if (page !== undefined) await writePage(page, report);
  return 0;
}

/** @throws {HostError} If it cannot be written. */
async function writePage(path: string, report: BenchReport): Promise<void> {
  const { toPage } = await import("./bench/page.ts");
  try {
    await Deno.writeTextFile(path, toPage(report));
  } catch (cause) {
    throw new HostError(`Cannot write the report ${JSON.stringify(path)}: ${messageOf(cause)}`, {
      cause,
    });
  }
}
