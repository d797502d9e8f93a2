/** `run --plan`: every step in order, without doing any. */
import { Node } from "../app/node.ts";
import { planRun } from "../app/plan.ts";
import type { RunLine } from "./run_option.ts";

/** Prints the plan of a spec. */
export async function printPlan({ spec, store, ...options }: RunLine): Promise<number> {
  using node = new Node(store, options);
  for (const { title, lines } of await planRun(node, spec)) {
    console.log(`# ${title}`);
    for (const line of lines) console.log(`  ${line}`);
  }
  return 0;
}
