/** The program from its sources; the compiled one begins in `tools/launch.ts`, with the same `main`. */
import { main } from "./src/cli/main.ts";

if (import.meta.main) Deno.exit(await main(Deno.args));
