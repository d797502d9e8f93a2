/** `session`: a shell as its users drive one. */
import { cacheOf, type Case, turnsOf } from "../case.ts";
import { toMeasure } from "../measure.ts";
import type { Ready } from "../peer.ts";
import { ask, mustBe, type Shell } from "../shell.ts";
import { takeTurns } from "../turn.ts";

/** So many commands in a row each turn. */
const ROW = 50;

/** So much output each turn. */
const OUTPUT_BYTES = 8 << 20;

/** So many sessions print at once, and so much each. */
const SESSIONS = 16;
const SHARE_BYTES = 2 << 20;

interface Times {
  readonly openMs: number;
  readonly echoMs: readonly number[];
  readonly outputRate: number;
  readonly sumRate: number;
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
      toMeasure(
        { ...head, name: `output of ${SESSIONS} at once`, unit: "MB/s", isMoreBetter: true },
        all.map(([peer, times]) => ({ peer, samples: times.map(({ sumRate }) => sumRate) })),
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
  const ms = await printMuch(shell, OUTPUT_BYTES);
  return {
    openMs,
    echoMs,
    outputRate: OUTPUT_BYTES / 1e3 / ms,
    sumRate: await printTogether(ground),
  };
}

/** Prints in several sessions at once, and gives their rate together. */
async function printTogether(ground: Ready["ground"]): Promise<number> {
  await using opened = new AsyncDisposableStack();
  const shells: Shell[] = [];
  for (let i = 0; i < SESSIONS; i++) {
    const shell = opened.use(await ground.session!());
    await ask(shell, "echo hi", "hi\n");
    shells.push(shell);
  }
  const begin = performance.now();
  await Promise.all(shells.map((shell) => printMuch(shell, SHARE_BYTES)));
  return SESSIONS * SHARE_BYTES / 1e3 / (performance.now() - begin);
}

async function printMuch(shell: Shell, count: number): Promise<number> {
  const { status, bytes, ms } = await shell.run(`head -c ${count} /dev/zero`);
  mustBe("head", `status ${status}, ${bytes} bytes`, `status 0, ${count} bytes`);
  return ms;
}
