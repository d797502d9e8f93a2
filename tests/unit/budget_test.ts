/** Tests of reservations within one process; processes are tested in integration. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { delay } from "@std/async/delay";
import * as fc from "fast-check";
import { type BudgetMode, IoBudget, type Share } from "../../src/budget/mod.ts";
import { tempDir } from "../support/temp_dir.ts";

/** Archives are counted as three times their size until one was measured. */
const RATIO = 3;

function openBudget(
  dir: string,
  mode: BudgetMode = { kind: "fixed", bytes: 100 * RATIO },
): IoBudget {
  return new IoBudget(`${dir}/budget`, { mode });
}

Deno.test("reserve() lets run what fits, and tells who waits", async () => {
  using dir = tempDir();
  const budget = openBudget(dir.path);
  const first = await budget.reserve(60);
  using second = await budget.reserve(40);
  let told = 0;
  const third = budget.reserve(1, { onWait: () => told++ });
  await delay(150); // it is told of after a while
  const { mode, budgetBytes, reservedBytes, waiting, running } = budget.state();
  assertEquals({ mode, budgetBytes, reservedBytes, waiting, running, told }, {
    mode: "fixed",
    budgetBytes: 300,
    reservedBytes: 300,
    waiting: 1,
    running: 2,
    told: 1,
  });
  first[Symbol.dispose]();
  (await third)[Symbol.dispose]();
  second[Symbol.dispose]();
  assertEquals([budget.state().reservedBytes, budget.state().waiting], [0, 0]);
});

Deno.test("reserve() is first come, first served: small ones do not starve a large one", async () => {
  using dir = tempDir();
  const budget = openBudget(dir.path);
  const order: string[] = [];
  const first = await budget.reserve(50);
  const large = budget.reserve(100).then((share) => (order.push("large"), share));
  const small = budget.reserve(1).then((share) => (order.push("small"), share));
  await delay(60);
  assertEquals(order, []);
  first[Symbol.dispose]();
  (await large)[Symbol.dispose]();
  (await small)[Symbol.dispose]();
  assertEquals(order, ["large", "small"]);
});

Deno.test("reserve() runs alone what is larger than the whole budget", async () => {
  using dir = tempDir();
  const budget = openBudget(dir.path);
  const huge = await budget.reserve(1e9);
  const small = budget.reserve(1);
  await delay(60);
  assertEquals([budget.state().running, budget.state().waiting], [1, 1]);
  huge[Symbol.dispose]();
  (await small)[Symbol.dispose]();
});

Deno.test("reserve() ends by its signal, and those behind move up", async () => {
  using dir = tempDir();
  const budget = openBudget(dir.path);
  const first = await budget.reserve(60);
  const [atHead, inLine] = [new AbortController(), new AbortController()];
  const head = budget.reserve(100, { signal: atHead.signal });
  const middle = budget.reserve(100, { signal: inLine.signal });
  const last = budget.reserve(40);
  inLine.abort(new Error("no more"));
  await assertRejects(() => middle, Error, "no more");
  atHead.abort(new Error("nor I"));
  await assertRejects(() => head, Error, "nor I");
  (await last)[Symbol.dispose]();
  first[Symbol.dispose]();
  await assertRejects(() => budget.reserve(1, { signal: AbortSignal.abort(new Error("late")) }));
  assertEquals([budget.state().waiting, budget.state().running], [0, 0]);
});

Deno.test("reserve() lets two large archives run at once, however small the adaptive budget is", async () => {
  using dir = tempDir();
  const budget = openBudget(dir.path, { kind: "auto" });
  const first = await budget.reserve(1e9);
  const second = await budget.reserve(1e9);
  assertEquals(budget.state().running, 2);
  for (const share of [first, second]) share[Symbol.dispose]();
});

Deno.test("reserve() bounds nothing with no budget, and leaves no trace", async () => {
  using dir = tempDir();
  const budget = openBudget(dir.path, { kind: "none" });
  const shares = await Promise.all([1e9, 1e9, 1e9].map((bytes) => budget.reserve(bytes)));
  assertEquals([budget.state().budgetBytes, budget.state().waiting], [null, 0]);
  for (const share of shares) share[Symbol.dispose]();
  assertEquals([...Deno.readDirSync(dir.path)], []);
});

Deno.test("reserve() counts an archive as those before it have grown", async () => {
  using dir = tempDir();
  const budget = openBudget(dir.path);
  for (let i = 0; i < 30; i++) {
    using share = await budget.reserve(10);
    share.note(5);
    share.finish(100);
  }
  using _share = await budget.reserve(10);
  assert(Math.abs(budget.state().reservedBytes - 100) <= 1);
});

Deno.test("reserve() never exceeds the budget and serves all, whatever comes when", async () => {
  using dir = tempDir();
  const job = fc.record({ size: fc.integer({ min: 0, max: 150 }), isAborted: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.array(job, { maxLength: 12 }), async (jobs) => {
      const budget = openBudget(dir.path);
      const served: number[] = [];
      let running: number[] = [];
      await Promise.all(jobs.map(async ({ size, isAborted }, i) => {
        const stop = new AbortController();
        const wait = budget.reserve(size, { signal: stop.signal });
        if (isAborted) stop.abort(new Error("aborted"));
        let share: Share;
        try {
          share = await wait;
        } catch (error) {
          return assertEquals([isAborted, (error as Error).message], [true, "aborted"]);
        }
        served.push(i);
        running.push(size);
        const total = running.reduce((a, b) => a + Math.max(1 / RATIO, b), 0);
        assert(running.length === 1 || total <= 100.01);
        await delay(1);
        running = running.toSpliced(running.indexOf(size), 1);
        share[Symbol.dispose]();
      }));
      assertEquals(served, served.toSorted((a, b) => a - b));
      assert(jobs.every(({ isAborted }, i) => isAborted || served.includes(i)));
      const { waiting, reservedBytes } = budget.state();
      assertEquals([waiting, reservedBytes], [0, 0]);
    }),
    { numRuns: 40 },
  );
});
