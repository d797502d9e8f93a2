/** Measures a live session: a command's round trip beside pexpect's, and how fast output comes. */
import { type Spread, toSpread } from "../src/app/bench/spread.ts";
import { parseOptions } from "../src/cli/option.ts";
import type { Shell } from "../src/session/mod.ts";
import { LiveRoom } from "./live_room.ts";
import { PexpectPeer } from "./pexpect_peer.ts";
import { formatReport, type Report, type Row } from "./report.ts";
import { openScratch } from "./scratch.ts";

const USAGE = `Usage: deno run -A bench/session.ts [OPTION]...

Measures "echo hi" in a live session, with its exit status, beside a bash driven by pexpect, in turns;
then how long 100 MB of output take, from one session and from many at once. Times are milliseconds.

  --runs N        so many rounds of 100 commands [20]
  --sessions N    so many sessions print at once [256]
  --python PATH   a Python that has pexpect [python3]
  --json          print JSON`;

const ROUND = 100;
const WARM_UP = 300;
const OUTPUT_BYTES = 100e6;

/** pexpect's own delay, in seconds, and none; so often is it measured less. */
const DELAY = 0.05;

interface Wish {
  readonly runs: number;
  readonly sessions: number;
  readonly python: string;
}

async function measure({ runs, sessions, python }: Wish): Promise<Report> {
  await using scratch = await openScratch();
  using room = await LiveRoom.open(`${scratch.dir}/store`);
  const before = Deno.loadavg()[0]!;
  const { rows, skipped } = await measureCommands(room, runs, python);
  const output = await measureOutput(room, sessions);
  return {
    machine: {
      kernel: Deno.osRelease(),
      processors: navigator.hardwareConcurrency,
      "user id": Deno.uid()!,
      "load before": before.toFixed(2),
      "load after": Deno.loadavg()[0]!.toFixed(2),
    },
    cases: [
      { name: "echo hi in a live shell, ms", baseline: "session", rows },
      { name: `${OUTPUT_BYTES / 1e6} MB of output, ms`, baseline: null, rows: output },
    ],
    skipped,
  };
}

async function measureCommands(
  room: LiveRoom,
  runs: number,
  python: string,
): Promise<{ readonly rows: Row[]; readonly skipped: { name: string; reason: string }[] }> {
  await using session = await room.session();
  const { shell } = session;
  for (let i = 0; i < WARM_UP; i++) await echo(shell, true);
  const peers = ["session", "session, unchecked", "pexpect, no delay", "pexpect"] as const;
  const times = new Map<string, number[]>(peers.map((name) => [name, []]));
  const skipped: { name: string; reason: string }[] = [];
  await using stack = new AsyncDisposableStack();
  let quick: PexpectPeer | undefined;
  let usual: PexpectPeer | undefined;
  try {
    quick = stack.use(await PexpectPeer.open(python, null, ROUND));
    usual = stack.use(await PexpectPeer.open(python, DELAY, 1));
  } catch (error) {
    skipped.push({ name: "pexpect", reason: (error as Error).message });
  }
  for (let i = 0; i < runs; i++) {
    for (let j = 0; j < ROUND; j++) times.get("session")!.push(await echo(shell, true));
    for (let j = 0; j < ROUND; j++) times.get("session, unchecked")!.push(await echo(shell, false));
    if (quick !== undefined) times.get("pexpect, no delay")!.push(...await quick.round());
    if (usual !== undefined) times.get("pexpect")!.push(...await usual.round());
  }
  const what: Readonly<Record<string, string>> = {
    session: "its output, exit status and syntax check, in a sandbox",
    "session, unchecked": "without the syntax check",
    "pexpect, no delay": "output up to a prompt, without status, no sandbox, delaybeforesend None",
    pexpect: "the same, with its usual delay",
  };
  const rows = peers.map((name) => ({ name, times: times.get(name)! }))
    .filter(({ times }) => times.length > 0)
    .map(({ name, times }) => withTail(name, what[name]!, toSpread(times)));
  return { rows, skipped };
}

function withTail(name: string, what: string, spread: Spread): Row {
  return { name, what: `${what}; p95 ${spread.p95.toFixed(2)}`, ...spread };
}

async function echo(shell: Shell, checkSyntax: boolean): Promise<number> {
  const begin = performance.now();
  const { outcome, output } = await shell.run("echo hi", { checkSyntax });
  const ms = performance.now() - begin;
  const isRight = outcome.kind === "exited" && outcome.code === 0 &&
    new TextDecoder().decode(output.head) === "hi\n";
  if (!isRight) throw new Error(`echo hi: ${JSON.stringify(outcome)}`);
  return ms;
}

async function measureOutput(room: LiveRoom, sessions: number): Promise<Row[]> {
  const rows: Row[] = [];
  for (const count of [1, sessions]) {
    await using stack = new AsyncDisposableStack();
    const shells: Shell[] = [];
    for (let i = 0; i < count; i++) shells.push(stack.use(await room.session()).shell);
    const times: number[] = [];
    for (let i = 0; i < 3; i++) times.push(await printAll(shells));
    const spread = toSpread(times);
    const speed = `${(OUTPUT_BYTES / 1e3 / spread.median).toFixed(0)} MB/s`;
    rows.push({ name: `${count} at once`, what: speed, ...spread });
    console.error(`${count} at once: ${speed}`);
  }
  return rows;
}

async function printAll(shells: readonly Shell[]): Promise<number> {
  const bytes = Math.floor(OUTPUT_BYTES / shells.length);
  const output = { headBytes: 1000, tailBytes: 1000 };
  const begin = performance.now();
  await Promise.all(shells.map(async (shell) => {
    const result = await shell.run(`head -c ${bytes} /dev/zero`, { output });
    if (result.output.totalBytes !== bytes) throw new Error("output was lost");
  }));
  return performance.now() - begin;
}

if (import.meta.main) {
  try {
    const { options } = parseOptions({
      runs: { kind: "value" },
      sessions: { kind: "value" },
      python: { kind: "value" },
      json: { kind: "flag" },
      help: { kind: "flag" },
    }, Deno.args);
    if (options.help) {
      console.log(USAGE);
    } else {
      const report = await measure({
        runs: Number(options.runs ?? 20),
        sessions: Number(options.sessions ?? 256),
        python: options.python ?? "python3",
      });
      console.log(options.json ? JSON.stringify(report, null, 2) : formatReport(report));
    }
  } catch (error) {
    console.error(`bench: ${error instanceof Error ? error.message : error}`);
    Deno.exit(1);
  }
}
