/** Tests of how systems take turns, are asked and compared. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { findSlower, toRatios } from "../../bench/check.ts";
import { raiseCrowd } from "../../src/app/bench/crowd.ts";
import { toMeasure } from "../../src/app/bench/measure.ts";
import type { Ready } from "../../src/app/bench/peer.ts";
import { toRatio } from "../../src/app/bench/ratio.ts";
import { ask, PipedShell, type Shell, WrongAnswer } from "../../src/app/bench/shell.ts";
import { GREETING } from "../../src/app/bench/site.ts";
import { Tokens } from "../../src/app/bench/token.ts";
import { takeTurns, type Turns } from "../../src/app/bench/turn.ts";
import { benchReport } from "../support/bench_report.ts";

const nothing = { [Symbol.asyncDispose]: () => Promise.resolve() };

function ready(...names: readonly string[]): Ready[] {
  return names.map((name) => ({
    peer: { name, what: "", verbs: [], prepare: () => Promise.reject(new Error("unused")) },
    ground: { version: null, ...nothing },
  }));
}

function turns(names: readonly string[], runs: number, skipped: string[] = []): Turns {
  return {
    ...{ case: "start", what: "1", ready: ready(...names), runs, onTurn: () => {} },
    signal: new AbortController().signal,
    onSkip: ({ peer, reason }) => void skipped.push(`${peer}: ${reason}`),
  };
}

Deno.test("a ratio is that of the medians, within an interval that repeats", () => {
  const ours = [1, 2, 3, 2, 2];
  const theirs = [4, 5, 4, 4, 3];
  const ratio = toRatio(ours, theirs);
  assertEquals(ratio.value, 0.5);
  assert(ratio.low < 0.5 && 0.5 < ratio.high, JSON.stringify(ratio));
  assertEquals(toRatio(ours, theirs), ratio);
  assertEquals(toRatio([3], [6]), { value: 0.5, low: 0.5, high: 0.5 });
});

Deno.test("a ratio below 1 is better, also where more is", () => {
  const head = { case: "a", name: "b", count: 1, cache: "warm" } as const;
  const samples = [{ peer: "minisandbox", samples: [200] }, { peer: "tar", samples: [100] }];
  const ratioOf = (measure: ReturnType<typeof toMeasure>) =>
    measure.rows.map(({ ratio }) => ratio?.value ?? null);
  assertEquals(ratioOf(toMeasure({ ...head, unit: "ms" }, samples)), [null, 2]);
  const rate = { ...head, unit: "MB/s", isMoreBetter: true } as const;
  assertEquals(ratioOf(toMeasure(rate, samples)), [null, 0.5]);
  assertEquals(toMeasure({ ...head, unit: "ms" }, [{ peer: "tar", samples: [] }]).rows, []);
});

Deno.test("each system goes first in its turn", async () => {
  const order: string[] = [];
  await takeTurns(turns(["a", "b", "c"], 3), ({ peer }) => {
    order.push(peer.name);
    return Promise.resolve();
  });
  assertEquals(order.join(""), "abcbcacab");
});

Deno.test("a system that fails is left out and named, ours is an error", async () => {
  const skipped: string[] = [];
  const fail = ({ peer }: Ready) =>
    peer.name === "b" ? Promise.reject(new Error("no room")) : Promise.resolve(1);
  const samples = await takeTurns(turns(["a", "b"], 2, skipped), fail);
  assertEquals([...samples], [["a", [1, 1]]]);
  assertEquals(skipped, ["b: start, 1: no room"]);
  const ours = () => Promise.reject(new Error("no room"));
  await assertRejects(() => takeTurns(turns(["minisandbox"], 1), ours), Error, "no room");
});

Deno.test("a wrong answer of any system ends the bench", async () => {
  const shell: Shell = {
    run: () => Promise.resolve({ status: 0, output: "ho\n", bytes: 3, ms: 0 }),
    pids: () => Promise.resolve([]),
    ...nothing,
  };
  const error = await assertRejects(
    () => takeTurns(turns(["b"], 1), () => ask(shell, "echo hi", "hi\n")),
    WrongAnswer,
  );
  assertEquals(
    error.message,
    'Cannot measure "echo hi": it gave status 0, "ho\\n", not status 0, "hi\\n"',
  );
});

Deno.test("among many sandboxes, a wrong answer stands before other failures", async () => {
  let made = 0;
  const site = {
    ...{ scratch: "", archives: { venv: "", testbed: "" }, folders: { venv: "", testbed: "" } },
    ...{ entries: 0, bytes: 0, python: "", signal: new AbortController().signal, ...nothing },
  };
  const ended: number[] = [];
  const ground = {
    version: null,
    ...nothing,
    sandbox: () => {
      const number = ++made;
      if (number === 1) return Promise.reject(new Error("no room"));
      return Promise.resolve({
        run: () => Promise.resolve({ status: 0, output: "ho\n", bytes: 3, ms: 0 }),
        pids: () => Promise.resolve([]),
        [Symbol.asyncDispose]: () => Promise.resolve(void ended.push(number)),
      });
    },
  };
  const task = { count: 2, atOnce: 2, site, isCold: false };
  const one = { peer: ready("b")[0]!.peer, ground };
  const wish = { questions: () => [GREETING] };
  await assertRejects(() => raiseCrowd(one, task, wish), WrongAnswer);
  assertEquals(ended, [2]);
});

Deno.test("an answer is found wherever its bytes are cut", async () => {
  const bytes = new TextEncoder().encode("one\n\x1e0\ntwo\x1e17\n");
  for (let cut = 1; cut < bytes.length; cut++) {
    const chunks = [bytes.subarray(0, cut), bytes.subarray(cut)];
    const { run } = new PipedShell({
      write: () => Promise.resolve(),
      output: ReadableStream.from(chunks)[Symbol.asyncIterator](),
      reason: () => Promise.resolve("no more"),
    });
    const first = await run("first");
    const second = await run("second");
    assertEquals([first.output, first.status, first.bytes], ["one\n", 0, 4], `cut at ${cut}`);
    assertEquals([second.output, second.status, second.bytes], ["two", 17, 3], `cut at ${cut}`);
    await assertRejects(() => run("third"), Error, "it has ended: no more");
  }
});

Deno.test("tokens go to who asked first, and never more than there are", async () => {
  const tokens = new Tokens(3);
  const taken: number[] = [];
  const take = async (count: number) => {
    const share = await tokens.take(count);
    taken.push(count);
    return share;
  };
  const first = await take(2);
  const second = take(3);
  const third = take(1);
  await Promise.resolve();
  assertEquals(taken, [2]);
  first[Symbol.dispose]();
  (await second)[Symbol.dispose]();
  (await third)[Symbol.dispose]();
  assertEquals(taken, [2, 3, 1]);
});

Deno.test("what is 1.3 times slower than recorded, or gone, is found", () => {
  const ratios = toRatios(benchReport());
  assertEquals(ratios["process: true"], { bare: 2 });
  assertEquals(findSlower(ratios, ratios), []);
  assertEquals(findSlower({ "process: true": { bare: 1.6 } }, ratios), []);
  assertEquals(findSlower({ "process: true": { bare: 1.5, crun: 1 } }, ratios), [
    "process: true: 2.000x of bare, recorded 1.500x",
    "process: true: crun was not measured",
  ]);
});
