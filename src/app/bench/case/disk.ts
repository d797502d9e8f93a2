/** `disk`: what sandboxes of one environment take beside it. */
import { cacheOf, type Case, turnsOf } from "../case.ts";
import { run } from "../child.ts";
import { raiseCrowd } from "../crowd.ts";
import { toMeasure } from "../measure.ts";
import { ask, type Shell } from "../shell.ts";
import { GREETING } from "../site.ts";
import { takeTurns } from "../turn.ts";

/** What each sandbox writes to its copy of the repository. */
const WRITE = 'head -c 10000 /dev/zero >"$TESTBED/written" && wc -c <"$TESTBED/written"';

/** Only systems whose sandboxes can write for themselves. */
export const disk: Case = {
  name: "disk",
  what: "what N sandboxes take on disk beside the environment, idle and with a file of 10 kB each",
  verb: "sandbox",
  counts: [16],
  canBeCold: false,
  measure: async (task) => {
    const { count, site } = task;
    const ready = task.ready.filter(({ ground }) => ground.directories !== undefined);
    const environment = await measureDisk([site.folders.venv, site.folders.testbed]);
    const turns = await takeTurns(turnsOf({ ...task, ready }), async (one) => {
      const { directories } = one.ground;
      const before = await measureDisk(directories!);
      const grown: number[] = [];
      const look = async (shells: readonly Shell[]) => {
        grown.push(await measureDisk(directories!) - before);
        for (const shell of shells) await ask(shell, WRITE, "10000\n");
        grown.push(await measureDisk(directories!) - before);
      };
      await raiseCrowd(one, task, { questions: () => [GREETING], look });
      return grown;
    });
    const head = { case: task.case, count, cache: cacheOf(task) } as const;
    const pick = (name: string, unit: "bytes" | "number", toSample: (grown: number[]) => number) =>
      toMeasure(
        { ...head, name, unit },
        [...turns].map(([peer, all]) => ({ peer, samples: all.map(toSample) })),
      );
    return [
      pick("for each idle sandbox", "bytes", ([idle]) => Math.max(0, idle!) / count),
      pick("for each that wrote", "bytes", ([, written]) => Math.max(0, written!) / count),
      pick(
        "environment and all idle sandboxes, in environments",
        "number",
        ([idle]) => (environment + idle!) / environment,
      ),
    ];
  },
};

/** overlayfs keeps an empty directory of mode 0 for itself in each sandbox's (overlayfs.rst). */
const UNREADABLE = "*/runs/*/work/*/work";

/** What is mounted beneath is not on this disk. */
async function measureDisk(directories: readonly string[]): Promise<number> {
  const output = await run([
    ...["du", "-sxc", "--block-size=1", `--exclude=${UNREADABLE}`],
    ...directories,
  ]);
  return Number.parseInt(output.trim().split("\n").at(-1)!, 10);
}
