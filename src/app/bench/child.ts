/** Programs of the host that the bench starts. */
import { HostError } from "../../errors.ts";
import { PipedShell, type Shell } from "./shell.ts";

/** How a program is started. */
export interface ChildOptions {
  /** Variables beside our own. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/**
 * Runs a program to its end, and gives its stdout.
 *
 * @throws {HostError} If it is missing, or fails.
 */
export async function run(
  argv: readonly string[],
  options: ChildOptions = {},
): Promise<string> {
  const [program = "", ...args] = argv;
  const { success, stdout, stderr } = await outputOf(program, args, options);
  if (success) return new TextDecoder().decode(stdout);
  const said = new TextDecoder().decode(stderr).trim().split("\n").at(-1) ?? "";
  throw new HostError(`Cannot run ${JSON.stringify(argv.slice(0, 3).join(" "))}: ${said}`);
}

async function outputOf(
  program: string,
  args: string[],
  options: ChildOptions,
): Promise<Deno.CommandOutput> {
  try {
    return await new Deno.Command(program, { args, stdin: "null", ...options }).output();
  } catch (error) {
    throw missing(program, error);
  }
}

/** Says whether a program is there, with the first line it prints of itself. */
export async function versionOf(...argv: readonly string[]): Promise<string> {
  return (await run(argv)).split("\n")[0]!.trim();
}

/** Starts a bash by a command line that ends in `BASH`. @throws {HostError} If it is missing. */
export function spawnShell(argv: readonly string[], options: ChildOptions = {}): Shell {
  const [program = "", ...args] = argv;
  const child = spawn(program, args, options);
  const writer = child.stdin.getWriter();
  const output = child.stdout[Symbol.asyncIterator]();
  const reason = async () => (await new Response(child.stderr).text()).trim().slice(-300);
  const { run } = new PipedShell({ write: (bytes) => writer.write(bytes), output, reason });
  return {
    run,
    pids: () => Promise.resolve([child.pid]),
    [Symbol.asyncDispose]: async () => {
      await writer.close().catch(() => {}); // it may have ended already
      await Promise.all([
        output.return?.().catch(() => {}),
        child.stderr.locked ? null : child.stderr.cancel(),
      ]);
      await child.status;
    },
  };
}

function spawn(program: string, args: string[], options: ChildOptions): Deno.ChildProcess {
  try {
    return new Deno.Command(program, {
      args,
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
      ...options,
    }).spawn();
  } catch (error) {
    throw missing(program, error);
  }
}

function missing(program: string, error: unknown): HostError {
  const state = error instanceof Deno.errors.NotFound ? "it is not installed" : String(error);
  return new HostError(`Cannot run ${JSON.stringify(program)}: ${state}`, { cause: error });
}
