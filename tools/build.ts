/** Builds `dist/minisandbox`: one bundle of all sources, compiled into one file. */
import { join } from "@std/path/join";
import { BINARY, listFiles, ROOT } from "./checkout.ts";

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
    // Split, so that a start reads nothing of what is imported only when needed. Not minified:
    // that makes no start faster and stack traces useless.
    await deno(["bundle", "--platform=deno", "--code-splitting", "--outdir", scratch, "main.ts"]);
    // Times are embedded too: without them the same sources give the same bytes.
    for await (const { name } of Deno.readDir(scratch)) await Deno.utime(join(scratch, name), 0, 0);
    // No code cache: a compiled program keeps it at a guessable name in the shared /tmp, where
    // another user could leave code for root to run.
    await deno([
      ...["compile", "--no-config", "--no-check", "--no-code-cache", "--no-npm", "--no-remote"],
      ...["--allow-all", "--output", program, join(scratch, "main.js")],
    ]);
    await Deno.writeTextFile(join(scratch, "stamp"), await toStamp(digest, program));
    await Deno.rename(program, BINARY);
    await Deno.rename(join(scratch, "stamp"), STAMP);
  } finally {
    await Deno.remove(scratch, { recursive: true });
  }
  return true;
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
  const roots = ["deno.json", "deno.lock", "main.ts", "tools/build.ts"];
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
