/** What all peers of one run of the bench work with: two layers, as archives and as folders. */
import { ROOT } from "../tools/checkout.ts";

/** Where layers are shown. */
export const PATHS = ["/opt/venv", "/testbed"] as const;

/** Files in each layer: enough that they are real, few enough that no case is about them. */
const FILES = 200;

/** What peers work with. */
export interface Context extends AsyncDisposable {
  /** A directory of this run. */
  readonly scratch: string;
  /** Two layers as tar.gz, in the order of `PATHS`. */
  readonly archives: readonly string[];
  /** The same, as folders. */
  readonly folders: readonly string[];
}

/** Makes the layers. */
export async function openContext(): Promise<Context> {
  const scratch = await Deno.makeTempDir({ prefix: "minisandbox-bench-" });
  await Deno.chmod(scratch, 0o755); // the ids of a sandbox pass through it
  const folders = ["venv", "testbed"].map((name) => `${scratch}/${name}`);
  for (const folder of folders) {
    await Deno.mkdir(`${folder}/bin`, { recursive: true });
    for (let i = 0; i < FILES; i++) await Deno.writeTextFile(`${folder}/bin/${i}`, `${i}\n`);
    await run(["tar", "--owner=0", "--group=0", "-czf", `${folder}.tar.gz`, "-C", folder, "."]);
  }
  return {
    scratch,
    folders,
    archives: folders.map((folder) => `${folder}.tar.gz`),
    [Symbol.asyncDispose]: () => Deno.remove(scratch, { recursive: true }),
  };
}

/**
 * Runs a command of the preparation to its end.
 *
 * @throws {Error} If it fails.
 */
export async function run(argv: readonly string[]): Promise<string> {
  const [program = "", ...args] = argv;
  const output = await new Deno.Command(program, { args, cwd: ROOT, stdin: "null" }).output();
  const { success, stdout, stderr } = output;
  if (success) return new TextDecoder().decode(stdout);
  throw new Error(`Cannot run ${JSON.stringify(argv)}: ${new TextDecoder().decode(stderr).trim()}`);
}
