/** Use case: what a user wants to know of this host, measured, with the systems that are on it. */
import { messageOf, UsageError } from "../../errors.ts";
import { VERSION } from "../../version.ts";
import type { Case, Task } from "./case.ts";
import { CASES } from "./case/mod.ts";
import { type Business, machineFacts, readBusiness, toWarnings } from "./machine.ts";
import { type BenchReport, type Measure, OURS, type Skipped } from "./measure.ts";
import { PEERS } from "./peer/mod.ts";
import type { Peer, Ready } from "./peer.ts";
import { openSite, type Site } from "./site.ts";
import type { Turn } from "./turn.ts";

/** What is measured. */
export interface BenchWish {
  readonly cases: readonly string[];
  /** Instead of those of each case. */
  readonly counts: readonly number[] | null;
  /** Instead of five, or three where many sandboxes are made. */
  readonly runs: number | null;
  /** Beside ours; null for all that there are. */
  readonly peers: readonly string[] | null;
  readonly atOnce: number;
  /** The environment's size, about, in bytes. */
  readonly environmentBytes: number;
  readonly isCold: boolean;
  /** Where all is made; null for the usual place. */
  readonly scratch: string | null;
  /** The command line, to be told. */
  readonly command: string;
}

/** What is told meanwhile. */
export interface BenchEvents {
  readonly signal: AbortSignal;
  readonly onNote: (text: string) => void;
  readonly onTurn: (turn: Turn) => void;
  readonly onMeasure: (measure: Measure) => void;
}

/** From this many sandboxes on, turns are fewer. */
const MANY = 64;

/**
 * Measures.
 *
 * @throws {UsageError} If there is no such case or peer.
 * @throws {WrongAnswer} If a system does not do its work.
 * @throws {MinisandboxError} If ours fails.
 */
export async function runBench(wish: BenchWish, events: BenchEvents): Promise<BenchReport> {
  const cases = wish.cases.map((name) => pick("case", CASES, name));
  const peers = PEERS.filter(({ name }) => name === OURS || (wish.peers?.includes(name) ?? true));
  wish.peers?.forEach((name) => pick("peer", PEERS, name));
  const { signal, onNote } = events;
  const looks: Business[] = [await readBusiness()];
  const before = looks[0]!.load;
  onNote("making an environment");
  const bytes = wish.environmentBytes;
  await using site = await openSite({ parent: wish.scratch, bytes, signal });
  await using held = new AsyncDisposableStack();
  const verbs = new Set(cases.map(({ verb }) => verb));
  const wanted = peers.filter((peer) => peer.verbs.some((verb) => verbs.has(verb)));
  const { ready, skipped } = await preparePeers(wanted, site, { held, onNote });
  const measures: Measure[] = [];
  for (const one of cases) {
    for await (const measure of measureCase(one, wish, { site, ready, events, skipped })) {
      measures.push(measure);
      events.onMeasure(measure);
    }
    looks.push(await readBusiness());
  }
  return {
    version: VERSION,
    date: new Date().toISOString(),
    command: wish.command,
    machine: {
      ...machineFacts(site.scratch),
      "load before": before.toFixed(2),
      "load after": looks.at(-1)!.load.toFixed(2),
      "processors used by others": looks.map(({ share }) => `${Math.round(share * 100)}%`).join(
        " ",
      ),
      environment: `${(site.bytes / 1e6).toFixed(0)} MB in ${site.entries} files`,
      "made at once": wish.atOnce,
    },
    warnings: toWarnings(looks),
    peers: ready.map(({ peer: { name, what }, ground: { version } }) => ({ name, what, version })),
    skipped,
    measures,
  };
}

async function preparePeers(
  peers: readonly Peer[],
  site: Site,
  { held, onNote }: {
    readonly held: AsyncDisposableStack;
    readonly onNote: (text: string) => void;
  },
): Promise<{ readonly ready: Ready[]; readonly skipped: Skipped[] }> {
  const ready: Ready[] = [];
  const skipped: Skipped[] = [];
  for (const peer of peers) {
    site.signal.throwIfAborted();
    onNote(`preparing ${peer.name}`);
    try {
      ready.push({ peer, ground: held.use(await peer.prepare(site)) });
    } catch (error) {
      if (peer.name === OURS) throw error;
      onNote(`skipping ${peer.name}: ${messageOf(error)}`);
      skipped.push({ peer: peer.name, reason: messageOf(error) });
    }
  }
  return { ready, skipped };
}

async function* measureCase(
  one: Case,
  wish: BenchWish,
  { site, ready, events, skipped }: {
    readonly site: Site;
    readonly ready: readonly Ready[];
    readonly events: BenchEvents;
    readonly skipped: Skipped[];
  },
): AsyncGenerator<Measure> {
  const able = ready.filter(({ peer }) => peer.verbs.includes(one.verb));
  const counts = one.counts === null ? [1] : wish.counts ?? one.counts;
  for (const count of counts) {
    for (const isCold of wish.isCold && one.canBeCold ? [false, true] : [false]) {
      const task: Task = {
        ...{ case: one.name, count, isCold, site, ready: able, atOnce: wish.atOnce },
        runs: wish.runs ?? (count < MANY ? 5 : 3),
        onTurn: events.onTurn,
        onSkip: (skip) => {
          events.onNote(`leaving ${skip.peer} out: ${skip.reason}`);
          skipped.push(skip);
        },
      };
      yield* await one.measure(task);
    }
  }
}

function pick<T extends { readonly name: string }>(
  what: string,
  all: readonly T[],
  name: string,
): T {
  const found = all.find((one) => one.name === name);
  if (found !== undefined) return found;
  throw new UsageError(`Cannot measure: there is no ${what} ${JSON.stringify(name)}`, {
    remedy: `Choose from ${all.map((one) => one.name).join(", ")}.`,
  });
}
