/** Tests of a budget that several processes share, and of the options that set it. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { deadline } from "@std/async/deadline";
import { fromFileUrl } from "@std/path/from-file-url";
import { TextLineStream } from "@std/streams/text-line-stream";
import { IoBudget } from "../../src/budget/mod.ts";
import { minisandbox } from "../support/minisandbox.ts";
import { tar } from "../support/tar.ts";
import { tempDir } from "../support/temp_dir.ts";

const PROCESS = fromFileUrl(new URL("../support/budget_process.ts", import.meta.url));

/** An archive is counted as three times its size. */
const BUDGET = 300;

interface Reserver {
  readonly child: Deno.ChildProcess;
  /** Gives what it says next. */
  readonly line: () => Promise<string | undefined>;
  /** Ends it, and gives its exit code. */
  readonly end: () => Promise<number>;
}

/** Starts a process that reserves. */
function start(dir: string, archiveBytes: number): Reserver {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", PROCESS, dir, String(BUDGET), String(archiveBytes)],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const lines = child.stdout.pipeThrough(new TextDecoderStream())
    .pipeThrough(new TextLineStream()).getReader();
  const line = async () => (await deadline(lines.read(), 20_000)).value;
  const end = async () => {
    await child.stdin.close().catch(() => {}); // it may have been killed
    while (await line() !== undefined) { /* to its end */ }
    lines.releaseLock();
    return (await child.status).code;
  };
  return { child, line, end };
}

Deno.test("processes share a budget: one that finds no room waits until another ends", async () => {
  using dir = tempDir();
  const first = start(dir.path, 80);
  assertEquals(await first.line(), "runs");
  const second = start(dir.path, 80);
  assertEquals(await second.line(), "waits");
  const own = new IoBudget(dir.path, { mode: { kind: "fixed", bytes: BUDGET } });
  assertEquals(own.state().running, 0); // it has reserved nothing, and has not looked
  assertEquals(await first.end(), 0);
  assertEquals(await second.line(), "runs");
  assertEquals(await second.end(), 0);
  assertEquals([...Deno.readDirSync(dir.path)], []);
});

Deno.test("a process that is killed gives its part of the budget back", async () => {
  using dir = tempDir();
  const first = start(dir.path, 80);
  assertEquals(await first.line(), "runs");
  const second = start(dir.path, 80);
  const third = start(dir.path, 80);
  assertEquals([await second.line(), await third.line()], ["waits", "waits"]);
  first.child.kill("SIGKILL");
  await first.end();
  const waiting = [second, third].map((it) => ({ it, runs: it.line() }));
  const served = await Promise.race(waiting.map(async (each) => (await each.runs, each)));
  served.it.child.kill("SIGKILL");
  await served.it.end();
  const last = waiting.find((each) => each !== served)!;
  assertEquals(await last.runs, "runs");
  assertEquals(await last.it.end(), 0);
  // What the killed left is removed by who comes next.
  const budget = new IoBudget(dir.path, { mode: { kind: "fixed", bytes: BUDGET } });
  (await budget.reserve(1))[Symbol.dispose]();
  assertEquals([...Deno.readDirSync(dir.path)], []);
});

Deno.test("a killed one that waits at the head lets those behind it move up", async () => {
  using dir = tempDir();
  const first = start(dir.path, 80);
  assertEquals(await first.line(), "runs");
  const head = start(dir.path, 100);
  assertEquals(await head.line(), "waits");
  head.child.kill("SIGKILL");
  await head.end();
  const small = start(dir.path, 20);
  assertEquals(await small.line(), "runs");
  assertEquals([await small.end(), await first.end()], [0, 0]);
});

Deno.test("one that is stopped at the head does not keep those behind it waiting", async () => {
  using dir = tempDir();
  const first = start(dir.path, 80);
  assertEquals(await first.line(), "runs");
  const head = start(dir.path, 100);
  assertEquals(await head.line(), "waits");
  head.child.kill("SIGSTOP");
  const small = start(dir.path, 20);
  while (await small.line() !== "runs") { /* it may say before that it waits */ }
  head.child.kill("SIGCONT");
  assertEquals([await small.end(), await first.end()], [0, 0]);
  assertEquals(await head.line(), "runs");
  assertEquals(await head.end(), 0);
  assertEquals([...Deno.readDirSync(dir.path)], []);
});

Deno.test("layer import --io-budget keeps to it and tells its state", async () => {
  using dir = tempDir();
  const args = ["a", "b", "c"].map((name) => {
    Deno.writeFileSync(`${dir.path}/${name}.tar`, tar({ name, body: name }));
    return `${dir.path}/${name}.tar:/opt/${name}`;
  });
  for (const budget of ["4K", "auto", "none"]) {
    const store = `${dir.path}/store-${budget}`;
    const options = ["--json", "--jobs", "3", "--io-budget", budget, "--store", store];
    const { code, stdout, stderr } = await minisandbox(["layer", "import", ...options, ...args]);
    assertEquals(code, 0, stderr);
    const { layers, budget: state } = JSON.parse(stdout);
    assertEquals(layers.map(({ path }: { path: string }) => path), ["/opt/a", "/opt/b", "/opt/c"]);
    for (const { phases } of layers) assert(phases.unpack > 0 && phases.sync >= 0);
    const mode = budget === "4K" ? "fixed" : budget;
    assertEquals([state.mode, state.waiting, state.running], [mode, 0, 0]);
    assertEquals(state.budgetBytes === null, budget === "none");
    // Within the fixed budget they go one after the other: one waits, unless it came late anyway.
    if (budget !== "4K") assert(!stderr.includes("waiting for the I/O budget"), stderr);
    await minisandbox([
      ...["layer", "remove", "--store", store],
      ...layers.map(({ key }: { key: string }) => key),
    ]);
  }
});

Deno.test("more archives at once than this process has threads for are all unpacked", async () => {
  using dir = tempDir();
  const archives = Array.from({ length: 40 }, (_, i) => {
    const archive = `${dir.path}/${i}.tar`;
    Deno.writeFileSync(archive, tar({ name: `${i}`, body: "x".repeat(100_000) }));
    return archive;
  });
  const options = ["--at", "/opt/x", "--jobs", "40", "--io-budget", "none", "--json", "--quiet"];
  const { code, stdout, stderr } = await minisandbox(["layer", "import", ...options, ...archives]);
  assertEquals([code, stderr], [0, ""]);
  assertEquals(JSON.parse(stdout).layers.length, 40);
});

Deno.test("--io-budget says what it takes", async () => {
  assertEquals((await minisandbox(["run", "--io-budget", "2G", "--", "true"])).code, 0);
  for (
    const command of [["layer", "import", "--io-budget", "much", "x:/y"], [
      ...["run", "--io-budget", "much", "--", "true"],
    ]]
  ) {
    const { code, stderr } = await minisandbox(command);
    assertEquals(code, 125);
    assertStringIncludes(
      stderr,
      'Cannot read --io-budget "much": no such budget. Give auto, none or a size such as 2G.',
    );
  }
});
