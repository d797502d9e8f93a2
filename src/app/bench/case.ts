/** What each file in `case/` gives: one question that all systems are asked. */
import type { Measure, Skipped } from "./measure.ts";
import type { Ready, Verb } from "./peer.ts";
import type { Site } from "./site.ts";
import type { Turn } from "./turn.ts";

/** A case. */
export interface Case {
  readonly name: string;
  /** What it measures, in a few words. */
  readonly what: string;
  /** What a system must be able to do to take part. */
  readonly verb: Verb;
  /** How many sandboxes are alive, a measuring for each; null where it is always one. */
  readonly counts: readonly number[] | null;
  /** Whether it is measured with a cold page cache too. */
  readonly canBeCold: boolean;
  readonly measure: (task: Task) => Promise<Measure[]>;
}

/** One measuring of a case. */
export interface Task {
  readonly case: string;
  readonly count: number;
  readonly runs: number;
  readonly isCold: boolean;
  /** How many sandboxes are being made at once. */
  readonly atOnce: number;
  readonly site: Site;
  /** The systems that can take part. */
  readonly ready: readonly Ready[];
  readonly onTurn: (turn: Turn) => void;
  readonly onSkip: (skipped: Skipped) => void;
}

/** The part of a task that `takeTurns` needs. */
export function turnsOf({ isCold, count, ready, runs, site, ...rest }: Task): {
  readonly what: string;
  readonly ready: readonly Ready[];
  readonly runs: number;
  readonly signal: AbortSignal;
} & Pick<Task, "case" | "onTurn" | "onSkip"> {
  const { onTurn, onSkip } = rest;
  const what = `${count}${isCold ? " cold" : ""}`;
  return { case: rest.case, what, ready, runs, signal: site.signal, onTurn, onSkip };
}

/** Whether samples are of a cold cache, as measures say it. */
export function cacheOf({ isCold }: Pick<Task, "isCold">): Measure["cache"] {
  return isCold ? "cold" : "warm";
}
