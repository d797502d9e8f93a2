/** The command line of our own workers. */
import { UsageError } from "../errors.ts";
import { start, telling } from "./start.ts";
import { WORKERS } from "./worker.ts";

/** Runs one command line, as `main.ts` does. */
export function main([name, ...argv]: readonly string[]): Promise<number> {
  return telling(async () => {
    const worker = WORKERS.find((it) => it.name === name);
    if (worker === undefined) throw new UsageError("Cannot start a worker: none has this name");
    return await start(worker, argv);
  });
}
