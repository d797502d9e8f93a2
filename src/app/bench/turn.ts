/** Systems take turns, so that a machine that slows down slows all of them down. */
import { messageOf } from "../../errors.ts";
import { OURS, type Skipped } from "./measure.ts";
import type { Ready } from "./peer.ts";
import { WrongAnswer } from "./shell.ts";

/** What is told while a case is measured. */
export interface Turn {
  readonly case: string;
  /** What is measured, such as `64 warm`. */
  readonly what: string;
  readonly peer: string;
  /** Turns that are over, of all. */
  readonly done: number;
  readonly total: number;
}

/** Who takes part, and how often. */
export interface Turns {
  readonly case: string;
  readonly what: string;
  readonly ready: readonly Ready[];
  readonly runs: number;
  readonly signal: AbortSignal;
  readonly onTurn: (turn: Turn) => void;
  readonly onSkip: (skipped: Skipped) => void;
}

/**
 * Samples each system so often; each goes first in its turn. One that fails is left out from there
 * on, and told; ours must not.
 *
 * @throws {WrongAnswer} If one does not do its work.
 * @throws {MinisandboxError} If ours fails.
 */
export async function takeTurns<T>(
  turns: Turns,
  sample: (ready: Ready) => Promise<T>,
): Promise<Map<string, T[]>> {
  const { ready, runs, signal, onTurn, onSkip } = turns;
  const samples = new Map<string, T[]>(ready.map(({ peer }) => [peer.name, []]));
  const failed = new Set<string>();
  let done = 0;
  for (let i = 0; i < runs; i++) {
    for (const one of rotate(ready, i)) {
      const { name } = one.peer;
      signal.throwIfAborted();
      onTurn({ ...turns, peer: name, done: done++, total: runs * ready.length });
      if (failed.has(name)) continue;
      try {
        samples.get(name)!.push(await sample(one));
        await one.ground.rest?.();
      } catch (error) {
        signal.throwIfAborted();
        if (name === OURS || error instanceof WrongAnswer) throw error;
        failed.add(name);
        samples.delete(name);
        onSkip({ peer: name, reason: `${turns.case}, ${turns.what}: ${messageOf(error)}` });
      }
    }
  }
  return samples;
}

/** Gives a list from an item on, and then those before it. */
export function rotate<T>(list: readonly T[], by: number): T[] {
  const cut = by % Math.max(1, list.length);
  return [...list.slice(cut), ...list.slice(0, cut)];
}
