/** Bench: from nothing to a program's first output, in a live engine. */
import { pooledMap } from "@std/async/pool";
import { SetupError } from "../../errors.ts";
import type { Node } from "../node.ts";
import { Phases } from "../outcome.ts";
import { openPlace, prepare, type Prepared, type PrepareOptions } from "../prepare.ts";
import { toProgram } from "../program.ts";
import { checkSpec, type SandboxSpec } from "../spec.ts";
import { connect, disconnect } from "../wire.ts";
import { type Spread, toSpread } from "./spread.ts";

/** What is measured. */
export interface StartWish {
  /** The sandboxes, and the command in each. */
  readonly spec: SandboxSpec;
  readonly count: number;
  /** How many are alive at the same time. */
  readonly atOnce: number;
  /** What the command prints first; null for anything. */
  readonly expected: string | null;
}

/** How it can be ended, and what is told meanwhile. */
export type StartOptions = Omit<PrepareOptions, "phases">;

/** What came of it; times in milliseconds. */
export interface StartReport {
  readonly count: number;
  readonly atOnce: number;
  /** Once, before the first sandbox: `holder`, `base`, `unpack`. */
  readonly once: Readonly<Record<string, number>>;
  /** Each phase of a sandbox, and their sums. */
  readonly rows: Readonly<Record<string, Spread>>;
  /** From the first sandbox to the end of the last, the time between samples left out. */
  readonly totalMs: number;
}

/** Sandboxes before the first that counts. */
const WARM_UP = 10;

/** The phases up to the program's first instruction, and to its first output. */
const TO_START = ["upper", "create", "start"];
const TO_OUTPUT = [...TO_START, "firstOutput"];

/**
 * Measures starts, one after the other or several at once.
 *
 * @throws {SetupError} If a program's output is wrong.
 * @throws {MinisandboxError} If a sandbox cannot be made.
 */
export async function benchStart(
  node: Node,
  wish: StartWish,
  options: StartOptions,
): Promise<StartReport> {
  const { count, atOnce, spec } = wish;
  checkSpec(spec);
  await node.store.sweep();
  const once = new Phases();
  node.startEngine();
  once.end("holder");
  using prepared = await prepare(node, spec, { ...options, phases: once });

  const begin = () => beginSandbox(node, prepared, wish);
  const samples: Times[] = [];
  let totalMs = 0;
  for (let i = 0; i < WARM_UP; i++) await measureOne(node, begin);
  while (samples.length < count) {
    options.signal.throwIfAborted();
    const size = Math.min(atOnce, count - samples.length);
    const batch = atOnce === 1 ? await measureOne(node, begin) : await measureTogether(size, begin);
    samples.push(...batch.samples);
    totalMs += batch.totalMs;
  }
  return { count, atOnce, once: once.toJSON(), rows: toRows(samples), totalMs };
}

/** Milliseconds of each phase of one sandbox. */
type Times = Record<string, number>;

/** Samples, and how long they took together. */
interface Batch {
  readonly samples: readonly Times[];
  readonly totalMs: number;
}

/** A sandbox whose program has printed something. */
interface Begun {
  readonly times: Times;
  readonly end: () => Promise<void>;
}

type Begin = () => Promise<Begun>;

/** Its namespaces are made before, as by an engine that was idle. */
async function measureOne(node: Node, begin: Begin): Promise<Batch> {
  const [refill] = await timed(() => node.places.fill(1));
  const [beginMs, { times, end }] = await timed(begin);
  const [close] = await timed(end);
  return { samples: [{ refill, ...times, close }], totalMs: beginMs + close };
}

/** All are alive at the same time, then ended; their namespaces belong to the time. */
async function measureTogether(size: number, begin: Begin): Promise<Batch> {
  const [totalMs, samples] = await timed(async () => {
    const all: Begun[] = [];
    try {
      const jobs = Array(size).keys();
      for await (const begun of pooledMap(navigator.hardwareConcurrency, jobs, begin)) {
        all.push(begun);
      }
    } finally {
      for (const { times, end } of all) [times["close"]] = await timed(end);
    }
    return all.map(({ times }) => times);
  });
  return { samples, totalMs };
}

/** Makes a sandbox, starts its program, and reads its first output. */
async function beginSandbox(node: Node, prepared: Prepared, wish: StartWish): Promise<Begun> {
  await using opened = new AsyncDisposableStack();
  const phases = new Phases();
  const place = opened.use(await openPlace(node, wish.spec, prepared));
  phases.end("upper");
  const sandbox = await node.engine.create(place.layout, prepared.user, place);
  opened.defer(() => sandbox.close());
  phases.end("create");
  const { ours, theirs } = connect(sandbox, { hasStdin: false, terminal: null });
  opened.defer(() => disconnect(ours));
  await sandbox.start(toProgram(wish.spec, prepared.user), theirs);
  phases.end("start");
  const output = await readSome(ours.stdout);
  phases.end("firstOutput");
  checkOutput(wish, output);
  const kept = opened.move();
  return { times: phases.toJSON(), end: async () => await kept.disposeAsync() };
}

async function readSome(reader: AsyncIterable<Uint8Array>): Promise<string> {
  for await (const chunk of reader) return new TextDecoder().decode(chunk);
  return "";
}

function checkOutput({ expected, spec }: StartWish, output: string): void {
  if (expected === null ? output !== "" : output === expected) return;
  const wanted = expected === null ? "anything" : JSON.stringify(expected);
  throw new SetupError(
    "first output",
    `Cannot measure ${JSON.stringify(spec.command)}: it printed ${JSON.stringify(output)}, ` +
      `not ${wanted}`,
  );
}

function toRows(samples: readonly Times[]): Record<string, Spread> {
  const row = (...names: readonly string[]) =>
    toSpread(samples.map((times) => names.reduce((sum, name) => sum + (times[name] ?? 0), 0)));
  const names = [...new Set(samples.flatMap(Object.keys))];
  return {
    ...Object.fromEntries(names.map((name) => [name, row(name)])),
    "create to program start": row(...TO_START),
    "to first output": row(...TO_OUTPUT),
  };
}

async function timed<T>(work: () => T | Promise<T>): Promise<[ms: number, result: T]> {
  const begin = performance.now();
  const result = await work();
  return [performance.now() - begin, result];
}
