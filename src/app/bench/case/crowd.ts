/** `start` and `prepare`: sandboxes until each has answered. */
import { cacheOf, type Case, type Task, turnsOf } from "../case.ts";
import { type CrowdTimes, type CrowdWish, raiseCrowd } from "../crowd.ts";
import { meanPhases, type Measure, toMeasure } from "../measure.ts";
import { GREETING, questionsAt } from "../site.ts";
import { takeTurns } from "../turn.ts";

/** A bash that answers. */
export const start: Case = {
  name: "start",
  what: "N sandboxes until the bash in each has answered",
  verb: "sandbox",
  counts: [1, 16, 64, 128, 256],
  canBeCold: true,
  measure: (task) => measureCrowd(task, { questions: () => [GREETING] }),
};

/** An environment that is ready. */
export const prepare: Case = {
  name: "prepare",
  what: "N environments from caches until each shell gave `git status` and imported its package",
  verb: "sandbox",
  counts: [1, 16, 64, 128, 256],
  canBeCold: true,
  measure: (task) => measureCrowd(task, { questions: questionsAt }),
};

/** One sandbox is made so often each turn, each alone. */
const ROW = 10;

async function measureCrowd(task: Task, wish: CrowdWish): Promise<Measure[]> {
  const { count, isCold } = task;
  if (!isCold) {
    const warmUp = { ...turnsOf({ ...task, runs: 1 }), what: "warm-up" };
    await takeTurns(warmUp, (ready) => raiseCrowd(ready, { ...task, count: 1 }, wish));
  }
  const row = count > 1 || isCold ? 1 : ROW;
  const samples = await takeTurns(turnsOf(task), async (ready) => {
    const times: CrowdTimes[] = [];
    for (let i = 0; i < row; i++) times.push(await raiseCrowd(ready, task, wish));
    return times;
  });
  const turns = [...samples].map(([peer, times]) => [peer, times.flat()] as const);
  const head = { case: task.case, count, cache: cacheOf(task), unit: "ms" } as const;
  const pick = (name: string, toSamples: (times: readonly CrowdTimes[]) => readonly number[]) =>
    toMeasure(
      { ...head, name },
      turns.map(([peer, times]) => ({
        peer,
        samples: toSamples(times),
        phases: meanPhases(times.map(({ phases }) => phases)),
      })),
    );
  const all = pick("all of them", (times) => times.map(({ totalMs }) => totalMs));
  if (count === 1) return [all];
  return [all, pick("each of them", (times) => times.flatMap(({ eachMs }) => eachMs))];
}
