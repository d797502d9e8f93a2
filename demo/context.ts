/** What the stages of the demo share: the program, its folders, and where results go. */
import type { Python } from "./python.ts";

/** A claim that the demo checked. */
export interface Check {
  readonly claim: string;
  readonly isRight: boolean;
  /** What was seen, if the claim is wrong. */
  readonly seen: string;
}

/** What every stage of the demo works with. */
export interface Context {
  /** The program that is shown. */
  readonly binary: string;
  /** Files that later demos use again. */
  readonly cache: string;
  /** Files of this demo only. */
  readonly scratch: string;
  readonly store: string;
  readonly python: Python;
  /** How many sandboxes run at once. */
  readonly count: number;
  readonly checks: Check[];
  /** Tells the user what happens. */
  say(text: string): void;
}

/** Notes whether a claim holds, and says so at once if it does not. */
export function check(context: Context, claim: string, isRight: boolean, seen = ""): void {
  context.checks.push({ claim, isRight, seen: isRight ? "" : seen });
  if (!isRight) context.say(`WRONG: ${claim}${seen === "" ? "" : `: ${seen}`}`);
}
