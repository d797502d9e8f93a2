/** `fork`: a sandbox that begins with what another has written. */
import { cacheOf, type Case, turnsOf } from "../case.ts";
import { meanPhases, type Measure, toMeasure } from "../measure.ts";
import type { Ready } from "../peer.ts";
import { ask } from "../shell.ts";
import { takeTurns } from "../turn.ts";
import { Phases } from "../../outcome.ts";

/** So much has the original written. */
const WRITTEN_BYTES = [0, 10_000_000];

/** So many copies in a row each turn, each of all that its original then has. */
const ROW = 5;

/** Until the copy's shell has shown what the original wrote, and not what it wrote later. */
export const fork: Case = {
  name: "fork",
  what: "a copy of a live sandbox, until its shell has shown what was written in the original",
  verb: "fork",
  counts: null,
  canBeCold: false,
  measure: async (task) => {
    const measures: Measure[] = [];
    for (const bytes of WRITTEN_BYTES) {
      const turns = await takeTurns(turnsOf(task), (ready) => copyRow(ready, bytes));
      const name = `${bytes / 1e6} MB written`;
      measures.push(toMeasure(
        {
          ...{ case: task.case, name, count: 1, cache: cacheOf(task), unit: "ms" },
        },
        [...turns].map(([peer, rows]) => ({
          peer,
          samples: rows.flat().map(({ ms }) => ms),
          phases: meanPhases(rows.flat().map(({ phases }) => phases)),
        })),
      ));
    }
    return measures;
  },
};

interface Times {
  readonly ms: number;
  readonly phases: Readonly<Record<string, number>>;
}

async function copyRow({ ground }: Ready, bytes: number): Promise<Times[]> {
  await using original = await ground.original!();
  const { shell } = original;
  await ask(shell, `head -c ${bytes} /dev/zero >"$TESTBED/written" && sync -f "$TESTBED"`, "");
  const times: Times[] = [];
  for (let i = 0; i < ROW; i++) {
    await ask(shell, `echo before ${i} >"$TESTBED/mark"`, "");
    const begin = performance.now();
    const phases = new Phases();
    await using copy = await original.fork(phases);
    phases.end("shell");
    const seen = `before ${i}\n${bytes}\n`;
    await ask(copy, 'cat "$TESTBED/mark" && wc -c <"$TESTBED/written"', seen);
    phases.end("answer");
    times.push({ ms: performance.now() - begin, phases: phases.toJSON() });
    await ask(shell, 'echo after >"$TESTBED/mark"', "");
    await ask(copy, 'cat "$TESTBED/mark"', `before ${i}\n`);
  }
  return times;
}
