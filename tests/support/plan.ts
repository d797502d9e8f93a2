/** Questions about plans: which steps there are, and in what order. */
import type { Step } from "../../src/sandbox/step.ts";
import { showCall } from "../../src/sandbox/step.ts";

/** Gives the places of the steps whose call, as strace shows it, matches. */
export function places(plan: readonly Step[], call: RegExp): number[] {
  return plan.flatMap((step, i) => call.test(showCall(step)) ? [i] : []);
}

/** Gives the place of the one step whose call matches. */
export function place(plan: readonly Step[], call: RegExp): number {
  const found = places(plan, call);
  if (found.length !== 1) throw new Error(`${found.length} steps match ${call}`);
  return found[0]!;
}

/** Gives the calls that match, as strace shows them. */
export function calls(plan: readonly Step[], call: RegExp): string[] {
  return plan.map(showCall).filter((it) => call.test(it));
}
