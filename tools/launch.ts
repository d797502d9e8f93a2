/**
 * The first file of the compiled program: runs the sources as V8 had compiled them when it was built.
 *
 * A start calls most functions once, which is over before they would be compiled. That code is in
 * the program: Deno's own cache is a file of a guessable name in the shared /tmp, where another
 * user could leave code for root to run.
 */
import process from "node:process";
import { Script } from "node:vm";

const HERE = import.meta.dirname!;

/** The sources in three bundles, each with a file that exports `main`: a start reads one of them. */
export const BUNDLES = {
  main: "src/cli/main.ts",
  run: "src/cli/main_run.ts",
  worker: "src/cli/main_worker.ts",
} as const;

/** The name of one. */
export type BundleName = keyof typeof BUNDLES;

/** Those that lie here in gzip: every start reads all that the program holds, 0.8 ms a megabyte. */
export const PACKED: readonly BundleName[] = ["main"];

/** What is another thing in a script than in a module, namely node's; the bundles get a module's. */
export const TIMERS = { setTimeout, clearTimeout, setInterval, clearInterval };

/** A bundle in V8's hands. */
export interface Bundle {
  readonly script: Script;
  /** From arguments to the exit code. */
  readonly main: (args: readonly string[]) => Promise<number>;
}

/** Tells which one a command line needs. */
export function chooseBundle([name = ""]: readonly string[]): BundleName {
  if (name === "run") return name;
  return name.startsWith("__") ? "worker" : "main";
}

/**
 * Reads a bundle's file beside this one.
 *
 * @param kind Its source, or what V8 made of it.
 */
export function readPart(name: BundleName, kind: "bundle" | "code"): Uint8Array {
  const bytes = Deno.readFileSync(`${HERE}/${name}.${kind}`);
  return PACKED.includes(name) ? process.getBuiltinModule("node:zlib").gunzipSync(bytes) : bytes;
}

/**
 * Loads a bundle.
 *
 * @param code What V8 made of it before, with the same flags; what it does not have, or all of it if
 *   this V8 is another, is compiled when it is called.
 */
export function loadBundle(name: BundleName, code?: Uint8Array): Bundle {
  const source = new TextDecoder().decode(readPart(name, "bundle"));
  const cached = code === undefined ? {} : { cachedData: code };
  const script = new Script(source, { filename: `minisandbox/${name}.js`, ...cached });
  const module: { exports: Partial<Bundle> } = { exports: {} };
  script.runInThisContext()(module, process.getBuiltinModule, TIMERS);
  return { script, main: module.exports.main! };
}

if (import.meta.main) {
  const name = chooseBundle(Deno.args);
  Deno.exit(await loadBundle(name, readPart(name, "code")).main(Deno.args));
}
