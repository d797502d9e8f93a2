/** Tests that an engine that lives on does not grow. */
import { assert, assertEquals, assertLess } from "@std/assert";
import type { Process, Sandbox } from "../../src/sandbox/mod.ts";
import { command, LiveEngine, silent } from "../support/live_engine.ts";
import { sharedStore } from "../support/minisandbox.ts";

/** Sandboxes before and after the first count. */
const WARM_UP = 50;
const COUNT = 200;

/** What the garbage collector may leave, in MB. */
const SLACK_MB = 24;

Deno.test(`${COUNT} sandboxes made, used and closed leave no descriptor, process, mount or memory`, async () => {
  using engine = await LiveEngine.open(sharedStore());
  const use = async () => {
    await using sandbox = await engine.create();
    const process = await sandbox.start(command("true"), silent());
    assertEquals((await process.wait()).status, 0);
  };
  for (let i = 0; i < WARM_UP; i++) await use();
  const before = count();
  for (let i = 0; i < COUNT; i++) await use();
  const { rss, ...after } = count();
  assertEquals(after, { descriptors: before.descriptors, children: before.children });
  assert(rss - before.rss < SLACK_MB, `from ${before.rss} to ${rss} MB`);
  const mounts = Deno.readTextFileSync("/proc/self/mountinfo").split("\n");
  assertEquals(mounts.filter((line) => line.includes("minisandbox")), []);
});

Deno.test(`${COUNT} sandboxes of one user live at once, within what a user may usually have`, async () => {
  using engine = await LiveEngine.open(sharedStore());
  await (await engine.create())[Symbol.asyncDispose](); // what is opened once is open then
  const before = { ...count(), keys: countKeys() };
  await using all = new AsyncDisposableStack();
  const running: (readonly [Sandbox, Process])[] = [];
  for (let i = 0; i < COUNT; i++) {
    const sandbox = all.use(await engine.create());
    running.push([sandbox, await sandbox.start(command("sleep", "600"), silent())]);
  }
  const { descriptors, children } = count();
  assertLess(descriptors, USUAL_OPEN_FILES);
  assertEquals(children, before.children + 2 * COUNT); // an init and a program each
  assertLess(countKeys() - before.keys, 2);
  for (const [sandbox, process] of running) {
    assertEquals((await (await sandbox.start(command("true"), silent())).wait()).status, 0);
    assertEquals(process.signal(0), true);
  }
  await all.disposeAsync();
  for (const [, process] of running) assertEquals((await process.wait()).signal, 9);
  const { rss: _, ...after } = count();
  assertEquals(after, { descriptors: before.descriptors, children: before.children });
});

/** The hard limit that service managers and shells give. */
const USUAL_OPEN_FILES = 4096;

/** Keys that count to this user (keyrings(7)). */
function countKeys(): number {
  const row = new RegExp(`^ *${Deno.uid()}: +\\S+ +\\S+ +(\\d+)/`, "m");
  return Number(row.exec(readText("/proc/key-users"))?.[1] ?? 0);
}

Deno.test("a sandbox that is closed while its programs start and run leaves nothing", async () => {
  using engine = await LiveEngine.open(sharedStore());
  const before = count();
  for (let i = 0; i < 50; i++) {
    await using sandbox = await engine.create();
    const processes = await Promise.all(
      [1, 2, 3].map(() => sandbox.start(command("sleep", "600"), silent())),
    );
    const late = sandbox.start(command("sleep", "600"), silent());
    await Promise.allSettled([late, sandbox.close()]);
    for (const process of processes) assertEquals((await process.wait()).signal, 9);
  }
  const { rss: _, ...after } = count();
  assertEquals(after, { descriptors: before.descriptors, children: before.children });
});

function count(): { descriptors: number; children: number; rss: number } {
  const own = `PPid:\t${Deno.pid}\n`;
  const children = [...Deno.readDirSync("/proc")].filter(({ name }) => {
    return /^\d+$/.test(name) && readText(`/proc/${name}/status`).includes(own);
  });
  return {
    descriptors: [...Deno.readDirSync("/proc/self/fd")].length,
    children: children.length,
    rss: Deno.memoryUsage().rss / 2 ** 20,
  };
}

function readText(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return "";
  }
}
