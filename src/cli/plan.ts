/** `run --plan`: every step in order, without doing any. */
import { Node } from "../app/node.ts";
import { planRun } from "../app/plan.ts";
import { settleSpec } from "../app/settle.ts";
import type { RunLine } from "./run_option.ts";

/** Prints the plan of a command line. */
export async function printPlan({ wish, store, ...options }: RunLine): Promise<number> {
  using node = new Node(store, options);
  for (const { title, lines } of await planRun(node, settleSpec(node.store, wish))) {
    console.log(`# ${title}`);
    for (const line of lines) console.log(`  ${line}`);
  }
  return 0;
}
