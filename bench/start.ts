/** Measures starts against what is on this machine, in one interleaved run. */
import { toSpread } from "../src/app/bench/spread.ts";
import type { Bench } from "./bench.ts";
import { type Context, openContext } from "./context.ts";
import { measureLive } from "./live.ts";
import { measureFirstOutputs, measureProcesses, preparePeers, type Ready } from "./measure.ts";
import { bare } from "./peer/bare.ts";
import { bwrap } from "./peer/bwrap.ts";
import { minisandbox } from "./peer/minisandbox.ts";
import { nothing } from "./peer/nothing.ts";
import { unshare } from "./peer/unshare.ts";
import type { Case, Report, Row } from "./report.ts";

const USAGE = `Usage: ./dev bench start [--runs N] [--json]

Measures minisandbox against bwrap, unshare, the bare command and a compiled program that does
nothing, in turns. Times are milliseconds; a ratio above 1 is slower.

  --runs N   so often each [40]
  --json     print JSON`;

const PEERS = [minisandbox, nothing, bwrap, unshare, bare];

/** Starts in a live engine come in so many portions, between those of the others. */
const PORTIONS = 4;

async function measure(runs: number): Promise<Report> {
  await using context = await openContext();
  const { ready, skipped } = await preparePeers(PEERS, context);
  if (!ready.some(({ peer }) => peer === minisandbox)) {
    throw new Error(`Cannot measure: ${skipped.find(({ peer }) => peer === minisandbox)?.reason}`);
  }
  const load = () => Deno.loadavg()[0]!.toFixed(2);
  const before = load();
  const cases = [measureTrue(ready, runs), ...await measureGreeting(context, ready, runs)];
  return {
    machine: {
      kernel: Deno.osRelease(),
      processors: navigator.hardwareConcurrency,
      "user id": Deno.uid()!,
      "load before": before,
      "load after": load(),
    },
    cases,
    skipped: skipped.map(({ peer: { name }, reason }) => ({ name, reason })),
  };
}

function measureTrue(ready: readonly Ready[], runs: number): Case {
  const times = measureProcesses(ready, runs);
  const rows = ready.map(({ peer: { name, what } }) => ({ name, what, ...times.get(name)! }));
  const hasNothing = rows.some(({ name }) => name === nothing.name);
  const baseline = (hasNothing ? nothing : minisandbox).name;
  return { name: "a process that runs `true`, ms", rows, baseline };
}

/** The live engine is measured between portions of the others. */
async function measureGreeting(
  context: Context,
  all: readonly Ready[],
  runs: number,
): Promise<Case[]> {
  const ready = all.filter(({ peer }) => peer !== nothing);
  const times = new Map(ready.map(({ peer }) => [peer.name, [] as number[]]));
  const live: Record<string, Omit<Row, "name" | "what">[]> = {};
  for (let i = 0; i < PORTIONS; i++) {
    const count = Math.ceil(runs / PORTIONS);
    const { rows } = await measureLive(context, count * 2);
    for (const [name, spread] of Object.entries(rows)) (live[name] ??= []).push(spread);
    const more = await measureFirstOutputs(ready, count);
    for (const [name, ms] of more) times.get(name)!.push(...ms);
  }
  const liveRow = (phase: string, name: string, what: string): Row => {
    const parts = live[phase] ?? [];
    const of = (key: "median" | "p95" | "min" | "max") => parts.map((part) => part[key]);
    return {
      name,
      what,
      median: toSpread(of("median")).median,
      p95: Math.max(...of("p95")),
      min: Math.min(...of("min")),
      max: Math.max(...of("max")),
    };
  };
  const ours = "live engine";
  return [
    {
      name: "first output of bash, ms",
      baseline: ours,
      rows: [
        liveRow("to first output", ours, "a new sandbox in a process that goes on living"),
        ...ready.map(({ peer: { name, what } }) => ({ name, what, ...toSpread(times.get(name)!) })),
      ],
    },
    {
      name: "a sandbox in a live engine, ms",
      baseline: null,
      rows: Object.keys(live).map((phase) => liveRow(phase, phase, "")),
    },
  ];
}

/** Starts: of a whole process, and in a live engine. */
export const startBench: Bench = {
  usage: USAGE,
  options: { runs: { kind: "value" } },
  measure: async ({ runs = "40" }) => await measure(Number(runs)),
};
