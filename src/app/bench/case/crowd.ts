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

async function measureCrowd(task: Task, wish: CrowdWish): Promise<Measure[]> {
  const turns = await takeTurns(turnsOf(task), (ready) => raiseCrowd(ready, task, wish));
  const head = { case: task.case, count: task.count, cache: cacheOf(task), unit: "ms" } as const;
  const pick = (name: string, toSamples: (times: readonly CrowdTimes[]) => readonly number[]) =>
    toMeasure(
      { ...head, name },
      [...turns].map(([peer, times]) => ({
        peer,
        samples: toSamples(times),
        phases: meanPhases(times.map(({ phases }) => phases)),
      })),
    );
  const all = pick("all of them", (times) => times.map(({ totalMs }) => totalMs));
  if (task.count === 1) return [all];
  return [all, pick("each of them", (times) => times.flatMap(({ eachMs }) => eachMs))];
}
