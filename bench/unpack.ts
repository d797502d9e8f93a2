/** Measures the first unpacking of an environment against the tools that people use for it. */
import { format as formatBytes } from "@std/fmt/bytes";
import { toSpread } from "../src/app/bench/spread.ts";
import { parseOptions } from "../src/cli/option.ts";
import { run } from "./context.ts";
import { type Environment, makeEnvironment } from "./environment.ts";
import { measurePeak } from "./memory.ts";
import { PROGRAM } from "./peer/minisandbox.ts";
import { type Case, formatReport, type Report, type Row } from "./report.ts";

const USAGE = `Usage: deno run -A bench/unpack.ts [--sizes MB,MB] [--runs N] [--json]

Unpacks environments into a fresh store, and into a new directory with GNU tar, bsdtar and Python's
tarfile, in turns. Times are milliseconds; a ratio above 1 is slower.

  --sizes MB,MB  the unpacked sizes [100,800]
  --runs N       so often each [7]
  --json         print JSON`;

const PYTHON = `import sys, tarfile
with tarfile.open(sys.argv[1]) as archive:
    archive.extractall(sys.argv[2], filter="tar")`;

/** A way to unpack an archive into a directory that is not there yet. */
interface Unpacker {
  readonly name: string;
  readonly what: string;
  readonly argv: (archive: string, dir: string) => readonly string[];
}

const OURS = "minisandbox";
const UNSYNCED = "minisandbox, not synced";

const UNPACKERS: readonly Unpacker[] = [
  {
    name: OURS,
    what: "layer import: start, SHA-256, confined worker, syncfs",
    argv: (archive, dir) => [
      ...[PROGRAM, "layer", "import", "--quiet", "--json", "--store", dir],
      `${archive}:/opt/venv`,
    ],
  },
  { name: "GNU tar", what: "tar -xzf", argv: (archive, dir) => shell("tar -xzf", archive, dir) },
  {
    name: "GNU tar, synced",
    what: "tar -xzf, then sync -f",
    argv: (archive, dir) => shell("tar -xzf", archive, dir, '&& sync -f "$2"'),
  },
  { name: "bsdtar", what: "bsdtar -xf", argv: (archive, dir) => shell("bsdtar -xf", archive, dir) },
  {
    name: "Python tarfile",
    what: 'extractall(filter="tar")',
    argv: (archive, dir) => ["python3", "-I", "-c", PYTHON, archive, dir],
  },
];

function shell(command: string, archive: string, dir: string, then = ""): readonly string[] {
  return ["sh", "-c", `mkdir "$2" && ${command} "$1" -C "$2" ${then}`, "sh", archive, dir];
}

async function measure(sizes: readonly number[], runs: number): Promise<Report> {
  const scratch = await Deno.makeTempDir({ prefix: "minisandbox-bench-" });
  await Deno.chmod(scratch, 0o755); // the ids of a worker pass through it
  try {
    const cases: Case[] = [];
    const skipped = new Map<string, string>();
    for (const size of sizes) {
      const environment = await makeEnvironment(scratch, `venv${size}`, size * 1e6);
      cases.push(await measureCase(scratch, environment, { runs, skipped }));
      await Deno.remove(environment.archive);
    }
    const machine = {
      kernel: Deno.osRelease(),
      processors: navigator.hardwareConcurrency,
      "user id": Deno.uid()!,
      load: Deno.loadavg()[0]!.toFixed(2),
      runs,
    };
    return { machine, cases, skipped: [...skipped].map(([name, reason]) => ({ name, reason })) };
  } finally {
    await Deno.remove(scratch, { recursive: true });
  }
}

async function measureCase(
  scratch: string,
  { archive, archiveBytes, bytes, entries }: Environment,
  { runs, skipped }: { readonly runs: number; readonly skipped: Map<string, string> },
): Promise<Case> {
  const peaks = new Map<string, number>();
  for (const unpacker of UNPACKERS) {
    try {
      const peak = await inNewDirectory(scratch, (dir) => measurePeak(unpacker.argv(archive, dir)));
      peaks.set(unpacker.name, peak);
    } catch (error) {
      skipped.set(unpacker.name, (error as Error).message);
    }
  }
  const ready = UNPACKERS.filter(({ name }) => peaks.has(name));
  const times = new Map(
    [...ready.map(({ name }) => name), UNSYNCED].map((n) => [n, [] as number[]]),
  );
  const phases: Record<string, number>[] = [];
  for (let i = 0; i < runs; i++) {
    for (
      const { name, argv } of [
        ...ready.slice(i % ready.length),
        ...ready.slice(0, i % ready.length),
      ]
    ) {
      const { ms, stdout } = await inNewDirectory(scratch, async (dir) => {
        await run(["sync"]); // what was written before is not ours to wait for
        const begin = performance.now();
        const stdout = await run(argv(archive, dir));
        return { ms: performance.now() - begin, stdout };
      });
      times.get(name)!.push(ms);
      if (name !== OURS) continue;
      const [layer] = JSON.parse(stdout).layers;
      phases.push(layer.phases);
      times.get(UNSYNCED)!.push(ms - layer.phases.sync);
    }
  }
  const parts = Object.keys(phases[0] ?? {}).map((name) =>
    `${name} ${toSpread(phases.map((each) => each[name] ?? 0)).median.toFixed(0)}`
  );
  const rows: Row[] = ready.map(({ name, what }) => ({
    name,
    what: `${what}; peak ${formatBytes(peaks.get(name)!)}`,
    ...toSpread(times.get(name)!),
  }));
  rows.splice(1, 0, {
    name: UNSYNCED,
    what: `the same without its syncfs; medians: ${parts.join(", ")}`,
    ...toSpread(times.get(UNSYNCED)!),
  });
  const size = `${formatBytes(bytes)}, ${entries} files, ${formatBytes(archiveBytes)} packed`;
  return { name: `unpack ${size}, ms`, rows, baseline: "GNU tar" };
}

async function inNewDirectory<T>(scratch: string, act: (dir: string) => Promise<T>): Promise<T> {
  const dir = `${scratch}/target`;
  try {
    return await act(dir);
  } finally {
    await run(["rm", "-rf", dir]);
  }
}

if (import.meta.main) {
  try {
    const { options } = parseOptions({
      sizes: { kind: "value" },
      runs: { kind: "value" },
      json: { kind: "flag" },
      help: { kind: "flag" },
    }, Deno.args);
    if (options.help) {
      console.log(USAGE);
    } else {
      const sizes = (options.sizes ?? "100,800").split(",").map(Number);
      const report = await measure(sizes, Number(options.runs ?? 7));
      console.log(options.json ? JSON.stringify(report, null, 2) : formatReport(report));
    }
  } catch (error) {
    console.error(`bench: ${error instanceof Error ? error.message : error}`);
    Deno.exit(1);
  }
}
