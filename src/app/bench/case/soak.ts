/** `soak`: many sandboxes made and ended in a row; nothing may stay. */
import { cacheOf, type Case } from "../case.ts";
import { OURS, type Samples, toMeasure } from "../measure.ts";
import { countDescriptors, readUse } from "../processes.ts";
import { ask, mustBe } from "../shell.ts";
import { GREETING } from "../site.ts";
import { Phases } from "../../outcome.ts";

/** The row is looked at in so many parts; the first fills pools and caches, and is left out. */
const PARTS = 10;

/** Ours alone. */
export const soak: Case = {
  name: "soak",
  what: "N sandboxes made and ended in a row: memory, descriptors, mounts and processes stay flat",
  verb: "sandbox",
  counts: [1000],
  canBeCold: false,
  measure: async ({ case: name, count, ready, site, isCold, onTurn }) => {
    const ours = ready.find(({ peer }) => peer.name === OURS)!;
    const rates: number[] = [];
    const looks: Record<string, number>[] = [];
    for (let part = 0; part < PARTS; part++) {
      onTurn({ case: name, what: `${count}`, peer: OURS, done: part, total: PARTS });
      const begin = performance.now();
      const size = Math.ceil(count / PARTS);
      for (let i = 0; i < size; i++) {
        site.signal.throwIfAborted();
        await using shell = await ours.ground.sandbox!(new Phases());
        await ask(shell, GREETING.text, GREETING.expected);
      }
      rates.push(size / (performance.now() - begin) * 1e3);
      await ours.ground.rest?.();
      looks.push(look());
    }
    const [, first] = looks;
    const last = looks.at(-1)!;
    for (const kind of ["processes", "mounts"]) {
      mustBe(`${kind} at the end of ${count}`, `${last[kind]}`, `${first![kind]}`);
    }
    const head = { case: name, count, cache: cacheOf({ isCold }) } as const;
    const one = (samples: readonly number[]): Samples[] => [{ peer: OURS, samples }];
    return [
      toMeasure({ ...head, name: "made and ended", unit: "1/s" }, one(rates.slice(1))),
      ...(["memory", "descriptors", "processes", "mounts"] as const).map((kind) =>
        toMeasure(
          { ...head, name: `${kind}, from after the first tenth to the end`, unit: UNITS[kind] },
          one(looks.slice(1).map((it) => it[kind]!)),
        )
      ),
    ];
  },
};

const UNITS = {
  memory: "bytes",
  descriptors: "number",
  processes: "number",
  mounts: "number",
} as const;

function look(): Record<string, number> {
  return {
    memory: Deno.memoryUsage().rss,
    descriptors: countDescriptors(),
    processes: readUse([Deno.pid]).processes,
    mounts: Deno.readTextFileSync("/proc/self/mounts").split("\n").length,
  };
}
