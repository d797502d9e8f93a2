/** `session`: a shell as its users drive one. */
import { cacheOf, type Case, turnsOf } from "../case.ts";
import { toMeasure } from "../measure.ts";
import type { Ready } from "../peer.ts";
import { ask, mustBe } from "../shell.ts";
import { takeTurns } from "../turn.ts";

/** So many commands in a row each turn. */
const ROW = 50;

/** So much output each turn. */
const OUTPUT_BYTES = 8 << 20;

interface Times {
  readonly openMs: number;
  readonly echoMs: readonly number[];
  readonly outputRate: number;
}

/** Its opening, a small command, and a large output. */
export const session: Case = {
  name: "session",
  what: "a shell that lives: until it answers, `echo hi` with its status, much output",
  verb: "session",
  counts: null,
  canBeCold: false,
  measure: async (task) => {
    const turns = await takeTurns(turnsOf(task), useSession);
    const head = { case: task.case, count: 1, cache: cacheOf(task) } as const;
    const all = [...turns];
    return [
      toMeasure(
        { ...head, name: "echo hi", unit: "ms" },
        all.map(([peer, times]) => ({ peer, samples: times.flatMap(({ echoMs }) => echoMs) })),
      ),
      toMeasure(
        { ...head, name: "open, first answer", unit: "ms" },
        all.map(([peer, times]) => ({ peer, samples: times.map(({ openMs }) => openMs) })),
      ),
      toMeasure(
        { ...head, name: "output", unit: "MB/s", isMoreBetter: true },
        all.map(([peer, times]) => ({ peer, samples: times.map(({ outputRate }) => outputRate) })),
      ),
    ];
  },
};

async function useSession({ ground }: Ready): Promise<Times> {
  const begin = performance.now();
  await using shell = await ground.session!();
  await ask(shell, "echo hi", "hi\n");
  const openMs = performance.now() - begin;
  const echoMs: number[] = [];
  for (let i = 0; i < ROW; i++) echoMs.push(await ask(shell, `echo hi ${i}`, `hi ${i}\n`));
  const { status, bytes, ms } = await shell.run(`head -c ${OUTPUT_BYTES} /dev/zero`);
  mustBe("head", `status ${status}, ${bytes} bytes`, `status 0, ${OUTPUT_BYTES} bytes`);
  return { openMs, echoMs, outputRate: OUTPUT_BYTES / 1e3 / ms };
}
