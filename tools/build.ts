/** Builds `dist/minisandbox`: the sources in three bundles, and what V8 makes of them, in one file. */
import { join } from "@std/path/join";
import { toBytes } from "@std/streams/to-bytes";
import { BINARY, listFiles, ROOT } from "./checkout.ts";
import { type BundleName, BUNDLES, PACKED, TIMERS } from "./launch.ts";

const STAMP = join(ROOT, "dist/minisandbox.sha256");

/**
 * Builds the program, unless the sources are those of the program that is there.
 *
 * @returns Whether anything had to be built.
 * @throws {Error} If Deno cannot bundle or compile.
 */
export async function build(): Promise<boolean> {
  const digest = await digestSources();
  if (await readStamp() === await toStamp(digest, BINARY)) return false;

  await Deno.mkdir(join(ROOT, "dist"), { recursive: true });
  const scratch = await Deno.makeTempDir({ dir: join(ROOT, "dist"), prefix: "tmp-" });
  try {
    const program = join(scratch, "minisandbox");
    const names = Object.keys(BUNDLES) as BundleName[];
    // One after the other: the first one fetches the bundler.
    for (const name of names) await bundle(BUNDLES[name], join(scratch, `${name}.bundle`));
    for (const name of ["launch.ts", "rehearse.ts"]) {
      await Deno.copyFile(join(ROOT, "tools", name), join(scratch, name));
    }
    for (const name of PACKED) await pack(join(scratch, `${name}.bundle`));
    const bundles = names.map((name) => `${name}.bundle`);
    await compile(scratch, "rehearse.ts", bundles, join(scratch, "rehearsal"));
    await rehearse(scratch);
    const codes = names.map((name) => `${name}.code`);
    for (const name of PACKED) await pack(join(scratch, `${name}.code`));
    await compile(scratch, "launch.ts", [...bundles, ...codes], program);
    await Deno.writeTextFile(join(scratch, "stamp"), await toStamp(digest, program));
    await Deno.rename(program, BINARY);
    await Deno.rename(join(scratch, "stamp"), STAMP);
  } finally {
    await Deno.remove(scratch, { recursive: true });
  }
  return true;
}

/** Makes one script of a file and all that it imports: a function of what a script does not have. */
async function bundle(main: string, path: string): Promise<void> {
  // Not minified: that makes no start faster, and stack traces useless.
  await deno(["bundle", "--platform=deno", "--format=cjs", "--output", path, main]);
  const body = await Deno.readTextFile(path);
  const given = `module, require, { ${Object.keys(TIMERS).join(", ")} }`;
  await Deno.writeTextFile(path, `(function (${given}) {${body}\n})`);
}

/** Puts a file into gzip. */
async function pack(path: string): Promise<void> {
  const { readable } = await Deno.open(path);
  await Deno.writeFile(path, await toBytes(readable.pipeThrough(new CompressionStream("gzip"))));
}

/** Compiles one file, with files of the same directory beside it, into a program. */
async function compile(
  dir: string,
  main: string,
  files: readonly string[],
  program: string,
): Promise<void> {
  // Times are embedded too: two builds shall not differ by them.
  for (const name of [main, ...files]) await Deno.utime(join(dir, name), 0, 0);
  await deno([
    ...["compile", "--no-config", "--no-check", "--no-code-cache", "--no-npm", "--no-remote"],
    ...files.flatMap((name) => ["--include", join(dir, name)]),
    ...["--allow-all", "--output", program, join(dir, main)],
  ]);
}

/**
 * Does what a start does, so that the program has it compiled.
 *
 * @throws {Error} If no code comes of it. A machine that cannot make a sandbox is none: what was
 *   not reached is compiled when it is called.
 */
async function rehearse(dir: string): Promise<void> {
  const at = (name: string) => join(dir, name);
  const rehearsal = async (...args: string[]) => {
    const { success, stderr } = await new Deno.Command(at("rehearsal"), {
      args,
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).output();
    return success ? null : new TextDecoder().decode(stderr).trim();
  };
  const must = async (...args: string[]) => {
    const fault = await rehearsal(...args);
    if (fault !== null) throw new Error(`Cannot rehearse ${args.join(" ")}:\n${fault}`);
  };
  await must("layer", "pack", join(ROOT, "src"), "-o", at("src.tar.gz"));
  await must("layer", "pack", join(ROOT, "ffi"), "-o", at("ffi.tar.gz"));
  await Deno.mkdir(at("tree"));
  await Deno.writeTextFile(at("list"), "");
  const code = async (name: BundleName, ...args: string[]) => {
    await must("--code", at(`${name}.code`), ...args);
    await must("--is-taken", at(`${name}.code`), ...args);
  };
  const unpack = ["--archive", at("src.tar.gz"), "--into", at("tree"), "--list", at("list")];
  await code("worker", "__unpack", ...unpack);
  const layers = ["--layer", `${at("src.tar.gz")}:/src`, "--layer", `${at("ffi.tar.gz")}:/ffi`];
  const store = ["--store", at("store")];
  const run = ["run", "--quiet", ...store, ...layers];
  const fault = await rehearsal(...run, "--", "true");
  if (fault !== null) console.error(`build: Cannot rehearse a run here: ${fault}`);
  await code("run", ...run, ...(fault === null ? [] : ["--plan"]), "--", "true");
  await code("main", "serve", ...store); // its stdin has ended
}

async function deno(args: string[]): Promise<void> {
  const [verb = "", ...rest] = args;
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [verb, "--quiet", ...rest],
    cwd: ROOT,
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).output();
  if (!success) {
    throw new Error(`Cannot ${verb} the program:\n${new TextDecoder().decode(stderr).trim()}`);
  }
}

async function digestSources(): Promise<string> {
  const parts = [Deno.version.deno, Deno.build.arch];
  for (const path of await listSources()) {
    parts.push(path, await Deno.readTextFile(join(ROOT, path)));
  }
  const bytes = new TextEncoder().encode(JSON.stringify(parts));
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}

async function listSources(): Promise<string[]> {
  const tools = ["build", "launch", "rehearse"].map((name) => `tools/${name}.ts`);
  const roots = ["deno.json", "deno.lock", ...tools];
  return [...roots, ...await listFiles("ffi"), ...await listFiles("src")];
}

/** Joins sources and program, for two builds at once may rename in any order. */
async function toStamp(digest: string, program: string): Promise<string> {
  const info = await Deno.stat(program).catch(() => null);
  return `${digest} ${info?.size} ${info?.mtime?.getTime()}`;
}

function readStamp(): Promise<string | null> {
  return Deno.readTextFile(STAMP).catch(() => null);
}

if (import.meta.main) {
  try {
    await build();
  } catch (error) {
    console.error(`build: ${error instanceof Error ? error.message : error}`);
    Deno.exit(1);
  }
}
