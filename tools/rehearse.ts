/** The program that a build makes first: as `launch.ts`, but it writes down what V8 compiled. */
import { chooseBundle, loadBundle } from "./launch.ts";

const [option, path = "", ...rest] = Deno.args;
if (option === "--code") {
  const { script, main } = loadBundle(chooseBundle(rest));
  const exitCode = await main(rest);
  Deno.writeFileSync(path, script.createCachedData());
  Deno.exit(exitCode);
}
if (option === "--is-taken") {
  const { script } = loadBundle(chooseBundle(rest), Deno.readFileSync(path));
  Deno.exit(script.cachedDataRejected ? 1 : 0);
}
// A worker of the command that is rehearsed.
Deno.exit(await loadBundle(chooseBundle(Deno.args)).main(Deno.args));
