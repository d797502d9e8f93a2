/** `process`: a program in a sandbox that is there; systems that cannot, make one for it. */
import { cacheOf, type Case, turnsOf } from "../case.ts";
import { type Measure, toMeasure } from "../measure.ts";
import type { Ready } from "../peer.ts";
import { mustBe } from "../shell.ts";
import { takeTurns } from "../turn.ts";

const PROGRAMS = [
  { argv: ["true"], expected: "" },
  { argv: ["echo", "hi"], expected: "hi\n" },
] as const;

/** So many in a row each turn. */
const ROW = 10;

/** From its start to its end, its output read. */
export const process: Case = {
  name: "process",
  what: "a program from its start to its end, in a sandbox that is there if the system can",
  verb: "process",
  counts: null,
  canBeCold: false,
  measure: async (task) => {
    const measures: Measure[] = [];
    for (const { argv, expected } of PROGRAMS) {
      const turns = await takeTurns(turnsOf(task), (ready) => runRow(ready, argv, expected));
      measures.push(toMeasure({
        ...{ case: task.case, name: argv.join(" "), count: 1, cache: cacheOf(task), unit: "ms" },
      }, [...turns].map(([peer, times]) => ({ peer, samples: times.flat() }))));
    }
    return measures;
  },
};

async function runRow(
  { ground }: Ready,
  argv: readonly string[],
  expected: string,
): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < ROW; i++) {
    const begin = performance.now();
    const output = await ground.process!(argv);
    times.push(performance.now() - begin);
    mustBe(argv.join(" "), output, expected);
  }
  return times;
}
