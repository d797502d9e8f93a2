/** `memory`: what an idle sandbox takes. */
import { cacheOf, type Case, turnsOf } from "../case.ts";
import { raiseCrowd } from "../crowd.ts";
import { OURS, toMeasure } from "../measure.ts";
import { countDescriptors, type ProcessesUse, readUse } from "../processes.ts";
import { GREETING } from "../site.ts";
import { takeTurns } from "../turn.ts";

/** A sandbox, all alive shared out. */
interface Use extends ProcessesUse {
  readonly descriptors: number;
  /** What the server itself grew by. */
  readonly server: ProcessesUse;
}

/** Its processes, and for ours what the server grows by. */
export const memory: Case = {
  name: "memory",
  what: "an idle sandbox with a bash: memory, processes, threads; for ours the server's share too",
  verb: "sandbox",
  counts: [16],
  canBeCold: false,
  measure: async (task) => {
    const { count } = task;
    const turns = await takeTurns(turnsOf(task), async (ready) => {
      const isOurs = ready.peer.name === OURS;
      const before = { descriptors: countDescriptors(), server: readOwn() };
      let use: Use | null = null;
      const look = async (shells: readonly { pids: () => Promise<readonly number[]> }[]) => {
        const pids = (await Promise.all(shells.map((shell) => shell.pids()))).flat();
        use = toUse(readUse(pids), before, isOurs, count);
      };
      await raiseCrowd(ready, task, { questions: () => [GREETING], look });
      return use!;
    });
    const head = { case: task.case, count, cache: cacheOf(task) } as const;
    const pick = (
      name: string,
      unit: "bytes" | "number",
      toSample: (use: Use, peer: string) => number | null,
    ) =>
      toMeasure(
        { ...head, name, unit },
        [...turns].map(([peer, uses]) => ({
          peer,
          samples: uses.map((use) => toSample(use, peer)).filter((value) => value !== null),
        })),
      );
    const ofOurs = (toSample: (use: Use) => number) => (use: Use, peer: string) =>
      peer === OURS ? toSample(use) : null;
    return [
      pick("proportional set (PSS) of its processes", "bytes", ({ pssBytes }) => pssBytes),
      pick("resident set (RSS) of its processes", "bytes", ({ rssBytes }) => rssBytes),
      pick("processes", "number", ({ processes }) => processes),
      pick("threads", "number", ({ threads }) => threads),
      pick("growth of the server (RSS)", "bytes", ofOurs(({ server }) => server.rssBytes)),
      pick("threads of the server", "number", ofOurs(({ server }) => server.threads)),
      pick(
        "descriptors of the server, two of them bash's pipes",
        "number",
        ofOurs(({ descriptors }) => descriptors),
      ),
    ];
  },
};

function readOwn(): ProcessesUse {
  const { rss } = Deno.memoryUsage();
  const threads = [...Deno.readDirSync("/proc/self/task")].length;
  return { processes: 1, threads, pssBytes: null, rssBytes: rss };
}

function toUse(
  use: ProcessesUse,
  before: { readonly descriptors: number; readonly server: ProcessesUse },
  isOurs: boolean,
  count: number,
): Use {
  const own = readOwn();
  const share = (value: number) => isOurs ? Math.max(0, value) / count : 0;
  return {
    processes: use.processes / count,
    threads: use.threads / count,
    pssBytes: use.pssBytes === null ? null : use.pssBytes / count,
    rssBytes: use.rssBytes / count,
    descriptors: share(countDescriptors() - before.descriptors),
    server: {
      ...own,
      rssBytes: share(own.rssBytes - before.server.rssBytes),
      threads: share(own.threads - before.server.threads),
    },
  };
}
