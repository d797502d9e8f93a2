/** `unpack`: the first unpacking of an environment. */
import { cacheOf, type Case, turnsOf } from "../case.ts";
import { run } from "../child.ts";
import { dropCaches } from "../machine.ts";
import { toMeasure } from "../measure.ts";
import { mustBe } from "../shell.ts";
import { takeTurns } from "../turn.ts";

/** From the archive to files; every file is compared with what was packed. */
export const unpack: Case = {
  name: "unpack",
  what: "an archive to files, with the directory then compared with what was packed",
  verb: "unpack",
  counts: null,
  canBeCold: true,
  measure: async (task) => {
    const { archives, folders, scratch } = task.site;
    const turns = await takeTurns(turnsOf(task), async ({ ground }) => {
      const dir = `${scratch}/unpack-${crypto.randomUUID()}`;
      await run(["sync", "-f", scratch]); // what was written before is not theirs to wait for
      if (task.isCold) await dropCaches();
      const begin = performance.now();
      const unpacked = await ground.unpack!(archives.venv, dir);
      const usable = performance.now() - begin;
      await unpacked.settle();
      const written = performance.now() - begin;
      const difference = await run(["diff", "-rq", "--no-dereference", folders.venv, unpacked.dir])
        .catch((error) => error.message);
      mustBe("unpack", difference, "");
      return { usable, written };
    });
    const head = { case: task.case, count: 1, cache: cacheOf(task), unit: "ms" } as const;
    const all = [...turns];
    return [
      toMeasure(
        { ...head, name: "one archive, until its files can be used" },
        all.map(([peer, times]) => ({ peer, samples: times.map(({ usable }) => usable) })),
      ),
      toMeasure(
        { ...head, name: "one archive, until the disk has it" },
        all.map(([peer, times]) => ({ peer, samples: times.map(({ written }) => written) })),
      ),
    ];
  },
};
