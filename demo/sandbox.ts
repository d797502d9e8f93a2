/** Runs one command by `minisandbox run`, talks with it line by line, and reads its outcome. */
import { join } from "@std/path/join";
import { TextLineStream } from "@std/streams/text-line-stream";
import { toText } from "@std/streams/to-text";
import { HostError } from "../src/errors.ts";
import { start } from "./child.ts";
import type { Context } from "./context.ts";
import type { Environment } from "./environment.ts";
import { VENV } from "./venv.ts";

/** The variables that the demo gives to every program, whatever isolates it. */
export const PROGRAM_ENV = {
  PATH: `${VENV}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`,
  HOME: "/root",
  LANG: "C.UTF-8",
  TERM: "dumb",
};

/** How long the program of any one sandbox may take. */
const TIMEOUT_SECONDS = 300;

/** How long the tool may take to end after that. */
const GRACE_SECONDS = 30;

/** What a sandbox runs, beside its environment's two layers. */
export interface SandboxOptions {
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Host files shown inside, as `source:target`. */
  readonly binds?: readonly string[];
}

/** What a sandbox gave in the end. */
export interface SandboxResult {
  readonly code: number;
  readonly output: string;
  readonly stderr: string;
  /** From the start of the tool to its end. */
  readonly totalMs: number;
  /** From the start of the tool to the first line of output; 0 if there was none. */
  readonly firstOutputMs: number;
  readonly timing: Timing;
}

/** Where the time of a run went, from its outcome file. */
export interface Timing {
  /** Layers unpacked in this run. */
  readonly unpackMs: number;
  /** All other work before the program's first instruction. */
  readonly prepareMs: number;
}

/** A sandbox that runs, with pipes to its program. */
export class Sandbox {
  readonly #child: Deno.ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #stderr: Promise<string>;
  readonly #stdin: WritableStreamDefaultWriter<Uint8Array>;
  readonly #outcomePath: string;
  readonly #startedAt = performance.now();
  #output = "";
  #firstOutputMs = 0;

  /** Starts a sandbox over the layers of an environment. */
  constructor(context: Context, environment: Environment, options: SandboxOptions) {
    this.#outcomePath = join(context.scratch, `outcome-${crypto.randomUUID()}.json`);
    const command = toCommand(context, environment, options, this.#outcomePath);
    this.#child = start(command, { stdin: "piped" });
    const limitMs = 1_000 * (TIMEOUT_SECONDS + GRACE_SECONDS);
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), limitMs);
    this.#child.status.finally(() => clearTimeout(timer));
    this.#stdin = this.#child.stdin.getWriter();
    this.#stderr = toText(this.#child.stderr);
    this.#lines = this.#child.stdout.pipeThrough(new TextDecoderStream())
      .pipeThrough(new TextLineStream())[Symbol.asyncIterator]();
  }

  /** Waits for a line that starts with a word, and gives what follows the word. */
  async expect(word: string): Promise<string> {
    for (let line = await this.#next(); line !== null; line = await this.#next()) {
      if (line === word || line.startsWith(`${word} `)) return line.slice(word.length + 1);
    }
    const { code } = await this.#child.status;
    throw new HostError(
      `Cannot read "${word}" from a sandbox: it ended with exit code ${code}\n` +
        `${this.#output.slice(-2_000)}${await this.#stderr}`,
    );
  }

  /** Gives bytes to the program's stdin. */
  async write(bytes: Uint8Array | string): Promise<void> {
    await this.#stdin.write(typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes);
  }

  /** Closes stdin, waits for the end, and says what came of it. */
  async finish(): Promise<SandboxResult> {
    await this.#stdin.close().catch(() => {}); // The program may have ended before.
    while (await this.#next() !== null);
    const { code } = await this.#child.status;
    const totalMs = performance.now() - this.#startedAt;
    const stderr = await this.#stderr;
    const outcome = await readOutcome(this.#outcomePath);
    if (code === 125 || outcome === null) {
      throw new HostError(`Cannot run a sandbox: exit code ${code}\n${stderr.trim()}`);
    }
    return {
      code,
      output: this.#output,
      stderr,
      totalMs,
      firstOutputMs: this.#firstOutputMs,
      timing: toTiming(outcome.phases),
    };
  }

  async #next(): Promise<string | null> {
    const { done, value } = await this.#lines.next();
    if (done) return null;
    if (this.#output === "") this.#firstOutputMs = performance.now() - this.#startedAt;
    this.#output += `${value}\n`;
    return value;
  }
}

/** Runs a command in a sandbox to its end. */
export async function runSandbox(
  context: Context,
  environment: Environment,
  options: SandboxOptions & { readonly input?: Uint8Array },
): Promise<SandboxResult> {
  const sandbox = new Sandbox(context, environment, options);
  if (options.input !== undefined) await sandbox.write(options.input);
  return await sandbox.finish();
}

/** Sums the phases before the program's start, with unpacking apart. */
export function toTiming(phases: Readonly<Record<string, number>>): Timing {
  const { unpack = 0, program: _program, close: _close, ...before } = phases;
  return { unpackMs: unpack, prepareMs: Object.values(before).reduce((sum, ms) => sum + ms, 0) };
}

async function readOutcome(path: string): Promise<{ phases: Record<string, number> } | null> {
  try {
    return JSON.parse(await Deno.readTextFile(path));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}

function toCommand(
  context: Context,
  { venv, testbed }: Environment,
  { command, env = {}, binds = [] }: SandboxOptions,
  outcomePath: string,
): string[] {
  const { bindPrefix } = context.python;
  const pythonBind = bindPrefix === null ? [] : [`${bindPrefix}:${bindPrefix}`];
  return [
    ...[context.binary, "run", "-i", "--quiet"],
    ...["--store", context.store, "--outcome", outcomePath, "--timeout", String(TIMEOUT_SECONDS)],
    ...["--layer", `${venv}:${VENV}`, "--layer", `${testbed}:/testbed`, "--workdir", "/testbed"],
    ...[...pythonBind, ...binds].flatMap((bind) => ["--bind", bind]),
    ...Object.entries({ ...PROGRAM_ENV, ...env }).flatMap(([k, v]) => ["--env", `${k}=${v}`]),
    ...["--", ...command],
  ];
}
