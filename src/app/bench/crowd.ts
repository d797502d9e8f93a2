/** Many sandboxes of one system, alive at the same time. */
import { pooledMap } from "@std/async/pool";
import { Phases } from "../outcome.ts";
import { dropCaches } from "./machine.ts";
import { meanPhases } from "./measure.ts";
import type { Task } from "./case.ts";
import type { Ready } from "./peer.ts";
import { ask, type Shell, WrongAnswer } from "./shell.ts";
import { PATHS, type Question, type Site } from "./site.ts";

/** What it took. */
export interface CrowdTimes {
  /** From the first question to the last answer. */
  readonly totalMs: number;
  /** Of each sandbox. */
  readonly eachMs: readonly number[];
  /** The mean of each phase of one sandbox. */
  readonly phases: Readonly<Record<string, number>>;
}

/** What is asked of each sandbox, and looked at while all are alive. */
export interface CrowdWish {
  readonly questions: (venv: string) => readonly Question[];
  readonly look?: (shells: readonly Shell[]) => Promise<void>;
}

/**
 * Makes them, asks each, and ends all.
 *
 * @throws {WrongAnswer} If one gives a wrong answer.
 */
export async function raiseCrowd(
  { peer, ground }: Ready,
  { count, atOnce, site, isCold }: Pick<Task, "count" | "atOnce" | "site" | "isCold">,
  { questions, look = () => Promise.resolve() }: CrowdWish,
): Promise<CrowdTimes> {
  const asked = questions(venvOf(peer.name, site));
  const shells: Shell[] = [];
  const each: { readonly ms: number; readonly phases: Record<string, number> }[] = [];
  const makeOne = async (): Promise<void> => {
    site.signal.throwIfAborted();
    const begin = performance.now();
    const phases = new Phases();
    const shell = await ground.sandbox!(phases);
    shells.push(shell);
    for (const { phase, text, expected } of asked) {
      await ask(shell, text, expected);
      phases.end(phase);
    }
    each.push({ ms: performance.now() - begin, phases: phases.toJSON() });
  };
  try {
    if (isCold) await dropCaches();
    const begin = performance.now();
    await Array.fromAsync(pooledMap(atOnce, Array(count).keys(), makeOne)).catch((error) => {
      site.signal.throwIfAborted(); // whatever else it made fail
      throw worstOf(error);
    });
    const totalMs = performance.now() - begin;
    await look(shells);
    return {
      totalMs,
      eachMs: each.map(({ ms }) => ms),
      phases: meanPhases(each.map(({ phases }) => phases)),
    };
  } finally {
    await endAll(shells, atOnce);
  }
}

/** Several fail at once: a wrong answer is the worst, else the first is told. */
export function worstOf(error: unknown): unknown {
  if (!(error instanceof AggregateError)) return error;
  return error.errors.find((one) => one instanceof WrongAnswer) ?? error.errors[0];
}

/** Ends them, a few at once; the first failure is told when all were tried. */
async function endAll(shells: readonly Shell[], atOnce: number): Promise<void> {
  const end = (shell: Shell) => Promise.allSettled([shell[Symbol.asyncDispose]()]);
  const ends = await Array.fromAsync(pooledMap(atOnce, shells, end));
  const failed = ends.flat().find(({ status }) => status === "rejected");
  if (failed?.status === "rejected") throw failed.reason;
}

/** Where a system shows the venv: without a sandbox, in its folder. */
function venvOf(peer: string, { folders }: Site): string {
  return peer === "bare" ? folders.venv : PATHS.venv;
}
