/** The program that a build makes first: as `launch.ts`, but it writes down what V8 compiled. */
import { loadBundle } from "./launch.ts";

const [option, path = "", ...rest] = Deno.args;
if (option === "--code") {
  const { script, main } = loadBundle();
  const exitCode = await main(rest);
  Deno.writeFileSync(path, script.createCachedData());
  Deno.exit(exitCode);
}
if (option === "--is-taken") {
  Deno.exit(loadBundle(Deno.readFileSync(path)).script.cachedDataRejected ? 1 : 0);
}
// A worker of the command that is rehearsed.
Deno.exit(await loadBundle().main(Deno.args));
