/**
 * The first file of the compiled program: runs the bundle as V8 had compiled it when it was built.
 *
 * A start calls most functions once, which is over before they would be compiled. That code is in
 * the program: Deno's own cache is a file of a guessable name in the shared /tmp, where another
 * user could leave code for root to run.
 */
import { Script } from "node:vm";

const HERE = import.meta.dirname!;

/** The subcommands whose start is compiled: the first stands for the commands, the last for workers. */
export const COMPILED = ["run", "__unpack"] as const;

/** The bundle in V8's hands. */
export interface Bundle {
  readonly script: Script;
  /** From arguments to the exit code. */
  readonly main: (args: readonly string[]) => Promise<number>;
}

/**
 * Loads the bundle beside this file.
 *
 * @param code What V8 made of it before, with the same flags; what it does not have, or all of it if
 *   this V8 is another, is compiled when it is called.
 */
export function loadBundle(code?: Uint8Array): Bundle {
  const source = Deno.readTextFileSync(`${HERE}/bundle.js`);
  const options = {
    filename: "minisandbox.js",
    ...(code === undefined ? {} : { cachedData: code }),
  };
  const script = new Script(source, options);
  const module: { exports: Partial<Bundle> } = { exports: {} };
  script.runInThisContext()(module, process.getBuiltinModule);
  return { script, main: module.exports.main! };
}

if (import.meta.main) {
  const name = COMPILED[Deno.args[0]?.startsWith("__") ? 1 : 0];
  Deno.exit(await loadBundle(Deno.readFileSync(`${HERE}/${name}.code`)).main(Deno.args));
}
