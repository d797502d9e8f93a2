/** The command line of `run` alone: what its start need not read of the others, it does not. */
import { runCommand } from "./run.ts";
import { start, telling } from "./start.ts";

/** Runs one command line, as `main.ts` does. */
export function main([, ...argv]: readonly string[]): Promise<number> {
  return telling(() => start(runCommand, argv));
}
