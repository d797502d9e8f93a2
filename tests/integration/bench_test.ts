/** Tests of bench on this host. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { StartReport } from "../../src/app/bench/engine.ts";
import type { BenchReport } from "../../src/app/bench/measure.ts";
import { assertNothingLeft, minisandbox } from "../support/minisandbox.ts";
import { requires } from "../support/requirement.ts";
import { tempDir } from "../support/temp_dir.ts";

const SMALL = ["--runs", "1", "--size", "100K", "--at-once", "2", "--json"];

/** Runs cases in a scratch directory, which must be empty afterwards. */
async function bench(...args: readonly string[]): Promise<BenchReport> {
  using scratch = tempDir();
  const options = [...SMALL, "--scratch", scratch.path];
  const { code, stdout, stderr } = await minisandbox(["bench", ...args, ...options]);
  assertEquals(code, 0, stderr);
  assertEquals([...Deno.readDirSync(scratch.path)], []); // its store lay there too
  return JSON.parse(stdout) as BenchReport;
}

/** Who answered each measure, and how often. */
function answers({ measures }: BenchReport): Record<string, Record<string, number>> {
  return Object.fromEntries(measures.map(({ case: name, name: part, count, rows }) => [
    `${name} ${count} ${part}`,
    Object.fromEntries(rows.map(({ peer, samples }) => [peer, samples.length])),
  ]));
}

const forEach = requires("git", "python3");

Deno.test("bench engine measures each phase, one after the other and together", async () => {
  for (const atOnce of [1, 3]) {
    const args = ["bench", "engine", "--count", "5", "--at-once", `${atOnce}`, "--json"];
    const { code, stdout } = await minisandbox(args);
    assertEquals(code, 0);
    const { count, once, rows, totalMs } = JSON.parse(stdout) as StartReport;
    assertEquals([count, Object.keys(once)], [5, ["holder", "base", "unpack"]]);
    const first = atOnce === 1 ? ["refill"] : [];
    const phases = ["upper", "create", "start", "firstOutput", "close"];
    const sums = ["create to program start", "to first output"];
    assertEquals(Object.keys(rows), [...first, ...phases, ...sums]);
    for (const { median, p95, min, max } of Object.values(rows)) {
      assert(0 <= min && min <= median && median <= p95 && p95 <= max && max <= totalMs);
    }
    assertNothingLeft();
  }
});

Deno.test("bench engine takes a command of the caller, which must print something", async () => {
  const own = await minisandbox(["bench", "engine", "--count", "2", "--", "uname", "-s"]);
  assertEquals(own.code, 0);
  assertStringIncludes(own.stdout, "2 sandboxes, 1 at once: ");
  const silent = await minisandbox(["bench", "engine", "--count", "2", "--", "true"]);
  assertEquals([silent.code, silent.stderr], [
    125,
    'minisandbox: Cannot measure ["true"]: it printed "", not anything\n',
  ]);
  assertNothingLeft();
});

Deno.test("bench start and prepare ask each sandbox of each system", forEach, async () => {
  const peers = "bare,bwrap,runc,overlay,untar";
  const report = await bench("start", "prepare", "--counts", "2", "--peers", peers);
  const names = report.peers.map(({ name }) => name);
  const of = (count: number) => Object.fromEntries(names.map((name) => [name, count]));
  assertEquals(names.slice(0, 2), ["minisandbox", "bare"]);
  assert(names.includes("overlay"));
  assertEquals(names.includes("untar"), Deno.uid() === 0); // it mounts as root
  assertEquals(answers(report), {
    "start 2 all of them": of(1),
    "start 2 each of them": of(2),
    "prepare 2 all of them": of(1),
    "prepare 2 each of them": of(2),
  });
  for (const { case: name, rows } of report.measures) {
    for (const { peer, ratio, spread, phases } of rows) {
      assertEquals(ratio === null, peer === "minisandbox");
      assert(0 < spread.min && spread.min <= spread.median && spread.median <= spread.max);
      const unpacked = peer === "untar" ? ["unpack venv", "unpack testbed"] : [];
      const asked = name === "start" ? ["answer"] : ["answer", "git status", "import"];
      assertEquals(Object.keys(phases), [...unpacked, "create", ...asked]);
    }
  }
});

Deno.test(
  "bench of the other cases checks what was done, and leaves nothing",
  forEach,
  async () => {
    const cases = ["process", "session", "unpack", "fork", "memory", "disk", "soak"];
    const report = await bench(...cases, "--counts", "10", "--peers", "bare,tar");
    assertEquals(report.skipped, []);
    const counts = answers(report);
    assertEquals(counts["process 1 echo hi"], { minisandbox: 10, bare: 10 });
    assertEquals(counts["session 1 echo hi"], { minisandbox: 50, bare: 50 });
    assertEquals(counts["unpack 1 one archive, until its files can be used"], {
      minisandbox: 1,
      tar: 1,
    });
    assertEquals(counts["unpack 1 one archive, until the disk has it"], { minisandbox: 1, tar: 1 });
    assertEquals(counts["fork 1 10 MB written"], { minisandbox: 5 });
    assertEquals(counts["soak 10 made and ended"], { minisandbox: 9 });
    const valueOf = (part: string) =>
      report.measures.find(({ name }) => name === part)!.rows
        .find(({ peer }) => peer === "minisandbox")!.spread.median;
    assertEquals([valueOf("processes"), valueOf("threads of the server")], [2, 0]);
    assert(valueOf("for each that wrote") >= valueOf("for each idle sandbox") + 10_000);
  },
);

Deno.test("bench names what is skipped, and writes its page", forEach, async () => {
  using dir = tempDir();
  using tools = tempDir(); // a PATH with what the bench needs, and no peer
  for (const name of ["bash", "cat", "diff", "git", "gzip", "rm", "sh", "sync", "tar"]) {
    const { stdout } = await new Deno.Command("which", { args: [name] }).output();
    Deno.symlinkSync(new TextDecoder().decode(stdout).trim(), `${tools.path}/${name}`);
  }
  const page = `${dir.path}/page.html`;
  const args = [
    "bench",
    "start",
    "--counts",
    "1",
    "--runs",
    "1",
    "--size",
    "100K",
    "--report",
    page,
  ];
  const { code, stdout, stderr } = await minisandbox(args, { env: { PATH: tools.path } });
  assertEquals(code, 0, stderr);
  assertStringIncludes(stdout, "| start 1: all of them |");
  assertMatch(stdout, /\| bare .* \| 10 \|/);
  for (const name of ["bwrap", "docker", "podman"]) {
    assertStringIncludes(stdout, `skipped: ${name}: Cannot run "${name}": it is not installed`);
  }
  assertStringIncludes(await Deno.readTextFile(page), "<h1>minisandbox, measured</h1>");
});

Deno.test("bench refuses what it does not know", async () => {
  for (
    const [args, words] of [
      [[], "Cannot measure: there is no case, or a --"],
      [["strat"], 'Cannot measure: there is no case "strat"'],
      [["start", "--peers", "lxc"], 'Cannot measure: there is no peer "lxc"'],
      [["start", "--counts", "1,x"], 'Cannot read --counts "x"'],
    ] as const
  ) {
    const { code, stderr } = await minisandbox(["bench", ...args]);
    assertEquals(code, 125);
    assertStringIncludes(stderr, words);
  }
});
