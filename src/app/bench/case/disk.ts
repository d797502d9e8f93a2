/** `disk`: what sandboxes of one environment take beside it. */
import { cacheOf, type Case, turnsOf } from "../case.ts";
import { run } from "../child.ts";
import { raiseCrowd } from "../crowd.ts";
import { toMeasure } from "../measure.ts";
import type { Ready } from "../peer.ts";
import { takeTurns } from "../turn.ts";

/** What each sandbox writes to its copy of the repository. */
const WRITES = {
  phase: "write",
  text: 'head -c 10000 /dev/zero >"$TESTBED/written" && wc -c <"$TESTBED/written"',
  expected: "10000\n",
};

/** Only systems whose sandboxes can write for themselves. */
export const disk: Case = {
  name: "disk",
  what: "what N sandboxes that wrote a file of 10 kB each take on disk beside the environment",
  verb: "sandbox",
  counts: [16],
  canBeCold: false,
  measure: async (task) => {
    const { count, site } = task;
    const ready = task.ready.filter(({ ground }) => ground.directories !== undefined);
    const environment = await measureDisk([site.folders.venv, site.folders.testbed]);
    const turns = await takeTurns(turnsOf({ ...task, ready }), async (one) => {
      const before = await measureDisk(one.ground.directories!);
      let grown = 0;
      const look = async () => void (grown = await growthOf(one, before));
      await raiseCrowd(one, task, { questions: () => [WRITES], look });
      return grown;
    });
    const head = { case: task.case, count, cache: cacheOf(task) } as const;
    const pick = (name: string, unit: "bytes" | "number", toSample: (grown: number) => number) =>
      toMeasure(
        { ...head, name, unit },
        [...turns].map(([peer, grown]) => ({ peer, samples: grown.map(toSample) })),
      );
    return [
      pick("for each sandbox", "bytes", (grown) => Math.max(0, grown) / count),
      pick(
        "environment and all sandboxes, in environments",
        "number",
        (grown) => (environment + grown) / environment,
      ),
    ];
  },
};

async function growthOf({ ground }: Ready, before: number): Promise<number> {
  return await measureDisk(ground.directories!) - before;
}

/** What is mounted beneath is not on this disk. */
async function measureDisk(directories: readonly string[]): Promise<number> {
  const output = await run(["du", "-sxc", "--block-size=1", ...directories]);
  return Number.parseInt(output.trim().split("\n").at(-1)!, 10);
}
