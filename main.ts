/** The program: hands its arguments to the command line and exits with the answer. */
import { main } from "./src/cli/main.ts";

if (import.meta.main) Deno.exit(await main(Deno.args));
