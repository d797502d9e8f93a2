/** Measures the first unpacking of an environment against the tools that people use for it. */
import { format as formatBytes } from "@std/fmt/bytes";
import { toSpread } from "../src/app/bench/spread.ts";
import type { Bench } from "./bench.ts";
import { run } from "./context.ts";
import { childrenCpuMs } from "./cpu.ts";
import { type Environment, makeEnvironment } from "./environment.ts";
import { measurePeak } from "./memory.ts";
import { PROGRAM } from "./peer/minisandbox.ts";
import type { Case, Report } from "./report.ts";
import { openScratch } from "./scratch.ts";
import { OURS, type Unpacker, UNPACKERS } from "./unpacker.ts";

const USAGE = `Usage: ./dev bench unpack [--sizes MB,MB] [--runs N] [--scratch DIR] [--json]

Unpacks environments into a fresh store, and into a new directory with GNU tar, bsdtar and Python's
tarfile, in turns. Times are milliseconds; a ratio above 1 is slower.

  --sizes MB,MB  the unpacked sizes [100,800]
  --runs N       so often each [5]
  --scratch DIR  where to unpack to: a file system that nothing else uses is best, since ext4 makes
                 files slowly for minutes after many were removed [a new directory in /tmp]
  --json         print JSON`;

const UNSYNCED = `${OURS}, not synced`;

interface Times {
  readonly wallMs: number[];
  readonly cpuMs: number[];
}

async function measure(
  sizes: readonly number[],
  options: { readonly runs: number; readonly parent: string | undefined },
): Promise<Report> {
  await using scratch = await openScratch(options.parent);
  const cases: Case[] = [];
  const skipped = new Map<string, string>();
  const idle = await measurePeak([PROGRAM, "--help"]);
  for (const size of sizes) {
    const environment = await makeEnvironment(scratch.dir, `venv${size}`, size * 1e6);
    const measured = await measureEnvironment(scratch.dir, environment, options.runs, skipped);
    cases.push(...measured);
  }
  const machine = {
    kernel: Deno.osRelease(),
    processors: navigator.hardwareConcurrency,
    "user id": Deno.uid()!,
    load: Deno.loadavg()[0]!.toFixed(2),
    runs: options.runs,
    "peak of an idle minisandbox": formatBytes(idle),
  };
  return { machine, cases, skipped: [...skipped].map(([name, reason]) => ({ name, reason })) };
}

async function measureEnvironment(
  scratch: string,
  { archive, archiveBytes, bytes, entries }: Environment,
  runs: number,
  skipped: Map<string, string>,
): Promise<Case[]> {
  const peaks = new Map<string, number>();
  for (const { name, argv } of UNPACKERS) {
    try {
      peaks.set(name, await measurePeak(argv(archive, newDirectory(scratch))));
    } catch (error) {
      skipped.set(name, (error as Error).message);
    }
  }
  const ready = UNPACKERS.filter(({ name }) => peaks.has(name));
  const names = [...ready.map(({ name }) => name), UNSYNCED];
  const times = new Map<string, Times>(names.map((name) => [name, { wallMs: [], cpuMs: [] }]));
  const phases: Record<string, number>[] = [];
  for (let i = 0; i < runs; i++) {
    const first = i % ready.length; // none always follows the same one
    for (const unpacker of [...ready.slice(first), ...ready.slice(0, first)]) {
      const { wallMs, cpuMs, stdout } = await unpackOnce(unpacker, archive, newDirectory(scratch));
      times.get(unpacker.name)!.wallMs.push(wallMs);
      times.get(unpacker.name)!.cpuMs.push(cpuMs);
      if (unpacker.name !== OURS) continue;
      const [layer] = JSON.parse(stdout).layers;
      phases.push(layer.phases);
      times.get(UNSYNCED)!.wallMs.push(wallMs - layer.phases.sync);
      times.get(UNSYNCED)!.cpuMs.push(cpuMs);
    }
  }
  const parts = ["hash", "unpack", "sync"].map((name) =>
    `${name} ${toSpread(phases.map((each) => each[name] ?? 0)).median.toFixed(0)}`
  );
  const unsynced = { name: UNSYNCED, what: `phases, medians: ${parts.join(", ")}` };
  const rows = ready.map(({ name, what }) => ({
    name,
    what: `${what}; peak ${formatBytes(peaks.get(name)!)}`,
  })).toSpliced(1, 0, unsynced);
  const size = `${formatBytes(bytes)}, ${entries} files, ${formatBytes(archiveBytes)} packed`;
  const toCase = (name: string, key: keyof Times): Case => ({
    name: `unpack ${size}, ${name}`,
    baseline: "GNU tar",
    rows: rows.map((row) => ({ ...row, ...toSpread(times.get(row.name)![key]) })),
  });
  return [toCase("ms", "wallMs"), toCase("processor ms", "cpuMs")];
}

async function unpackOnce(
  { argv }: Unpacker,
  archive: string,
  dir: string,
): Promise<{ readonly wallMs: number; readonly cpuMs: number; readonly stdout: string }> {
  await run(["sync", "-f", archive]); // what was written before is not ours to wait for
  const cpu = childrenCpuMs();
  const begin = performance.now();
  const stdout = await run(argv(archive, dir));
  return { wallMs: performance.now() - begin, cpuMs: childrenCpuMs() - cpu, stdout };
}

/** All are kept until the end: ext4 makes files slowly for minutes after many were removed. */
function newDirectory(scratch: string): string {
  return `${scratch}/${crypto.randomUUID()}`;
}

/** The first unpacking. */
export const unpackBench: Bench = {
  usage: USAGE,
  options: { sizes: { kind: "value" }, runs: { kind: "value" }, scratch: { kind: "value" } },
  measure: async ({ sizes = "100,800", runs = "5", scratch }) =>
    await measure(sizes.split(",").map(Number), { runs: Number(runs), parent: scratch }),
};
