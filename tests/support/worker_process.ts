/** A worker process as the program starts it, for tests of what it reads and says. */
import { WORKERS } from "../../src/cli/worker.ts";

const [name, ...rest] = Deno.args;
const command = WORKERS.find((worker) => worker.name === name)!;
Deno.exit(await command.run(rest));
