/** Runs the program under test, in a store that the tests of one file share. */
import { assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path/join";
import { ROOT } from "../../tools/checkout.ts";
import { USES_USER_NAMESPACE } from "./identity.ts";

/** The program under test. */
export const BINARY = Deno.env.get("MINISANDBOX_BIN") ?? join(ROOT, "dist/minisandbox");

/** So long a run may take before it counts as hung. */
const HUNG_MS = 120_000;

/** How the program is run. */
export interface RunOptions {
  /** What it reads; nothing by default. */
  readonly stdin?: string | Uint8Array<ArrayBuffer>;
  /** Variables beside our own. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Another program that runs it: `["unshare", "-Ur"]`. */
  readonly under?: readonly string[];
}

/** What it came to. */
export interface Result {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly stdoutBytes: Uint8Array<ArrayBuffer>;
}

let store: string | undefined;

/** Gives the store of this file's tests; it is removed after the last of them. */
export function sharedStore(): string {
  if (store === undefined) {
    const dir = Deno.makeTempDirSync({ prefix: "minisandbox-test-" });
    Deno.chmodSync(dir, 0o755); // a sandbox's ids pass through it
    store = `${dir}/store`;
    const seed = Deno.env.get("MINISANDBOX_TEST_SEED");
    if (seed !== undefined) shareTrees(seed, store);
  }
  return store;
}

/** Lets a store have the trees of another, which holds those of the host. */
function shareTrees(seed: string, store: string): void {
  const run = (...args: string[]) => new Deno.Command(BINARY, { args }).outputSync();
  if (!isThere(seed)) run("run", "--quiet", "--store", seed, "--", "true");
  run("layer", "list", "--store", store); // makes it
  if (!isThere(`${seed}/skeletons`) || !isThere(`${store}/skeletons`)) return;
  Deno.removeSync(`${store}/skeletons`);
  Deno.symlinkSync(`${seed}/skeletons`, `${store}/skeletons`);
}

function isThere(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch {
    return false;
  }
}

/** Runs the program to its end. */
export async function minisandbox(
  args: readonly string[],
  options: RunOptions = {},
): Promise<Result> {
  const child = start(args, options);
  const hung = setTimeout(() => child.kill("SIGKILL"), HUNG_MS);
  try {
    const [output] = await Promise.all([child.output(), feed(child, options.stdin)]);
    const { stdout, stderr, code } = output;
    const decoder = new TextDecoder();
    return {
      code,
      stdout: decoder.decode(stdout),
      stderr: decoder.decode(stderr),
      stdoutBytes: stdout,
    };
  } finally {
    clearTimeout(hung);
  }
}

/** Runs a script by bash in a new sandbox; `args` stand before `--`. */
export async function bash(
  script: string,
  args: readonly string[] = [],
  options: RunOptions = {},
): Promise<Result> {
  return await minisandbox(["run", "--quiet", ...args, "--", "bash", "-c", script], options);
}

/** Runs a script as `bash` does, and gives what it printed, without the last line's end. */
export async function printed(
  script: string,
  args: readonly string[] = [],
  options: RunOptions = {},
): Promise<string> {
  const { code, stdout, stderr } = await bash(script, args, options);
  assertEquals([code, stderr], [0, ""]);
  return stdout.replace(/\n$/, "");
}

/** Starts the program; all its streams are pipes. */
export function start(args: readonly string[], options: RunOptions = {}): Deno.ChildProcess {
  const mode = args[0] === "run" && !USES_USER_NAMESPACE ? ["--userns", "off"] : [];
  const all = [BINARY, ...args.slice(0, 1), ...mode, ...args.slice(1)];
  const [program = "", ...rest] = [...options.under ?? [], ...all];
  return new Deno.Command(program, {
    args: rest,
    env: { MINISANDBOX_STORE: sharedStore(), ...options.env },
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

/** Gives the exit code and the one line of a run that was refused, without what starts each line. */
export function refusal({ code, stdout, stderr }: Result): [code: number, line: string] {
  assertEquals(stdout, "");
  assertMatch(stderr, /^minisandbox: [^\n]+\n$/);
  return [code, stderr.slice("minisandbox: ".length, -1)];
}

/** Makes sure that a store holds no trace of a run. */
export function assertNothingLeft(dir: string = sharedStore()): void {
  for (const name of ["runs", "tmp", "locks"]) {
    assertEquals([name, [...Deno.readDirSync(`${dir}/${name}`)].map((it) => it.name)], [name, []]);
  }
}

async function feed(child: Deno.ChildProcess, input: RunOptions["stdin"] = ""): Promise<void> {
  const bytes = typeof input === "string" ? new TextEncoder().encode(input) : input;
  const source = bytes.length === 0 ? ReadableStream.from([]) : ReadableStream.from([bytes]);
  await source.pipeTo(child.stdin).catch(() => {}); // it may end before it has read all
}

/** Removes a store, and layers of other ids by the program to whom they belong. */
export async function removeStore(dir: string): Promise<void> {
  for (const kind of ["environment", "snapshot", "base", "layer"]) {
    const list = await minisandbox([kind, "list", "--json", "--store", dir]);
    assertEquals([list.code, list.stderr], [0, ""]);
    const found: { readonly key?: string; readonly name?: string }[] = JSON.parse(list.stdout);
    const names = found.map(({ key, name }) => key ?? name!);
    if (names.length > 0) await minisandbox([kind, "remove", "--store", dir, ...names]);
  }
  await Deno.remove(dir, { recursive: true });
}

function exists(dir: string): boolean {
  try {
    return Deno.statSync(dir).isDirectory;
  } catch {
    return false;
  }
}

Deno.test.afterAll(async () => {
  if (store === undefined) return;
  const dir = store;
  await minisandbox(["layer", "list"]); // it makes the store, if no test has
  try {
    if (exists(dir)) assertNothingLeft(dir);
  } finally {
    if (exists(dir)) await removeStore(dir);
    await Deno.remove(dir.replace(/\/store$/, ""));
  }
});
