/** Runs one subcommand, and tells of errors. */
import { MinisandboxError } from "../errors.ts";
import { Interrupted } from "./interrupted.ts";
import type { Subcommand } from "./subcommand.ts";

/**
 * Runs a subcommand, or prints its help.
 *
 * @param argv The arguments after its name.
 * @returns The exit code.
 */
export async function start(
  command: Pick<Subcommand, "help" | "run">,
  argv: readonly string[],
): Promise<number> {
  const end = argv.indexOf("--");
  const own = end < 0 ? argv : argv.slice(0, end);
  if (own.includes("--help") || own.includes("-h")) {
    console.log(command.help);
    return 0;
  }
  return await command.run(argv);
}

/** Does work that gives an exit code, and gives that of an error after telling of it. */
export async function telling(work: () => Promise<number>): Promise<number> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Interrupted) return error.exitCode;
    if (!(error instanceof MinisandboxError)) {
      console.error("minisandbox: This is a fault of minisandbox itself, please report it:");
      console.error(error);
      return 125;
    }
    console.error(`minisandbox: ${error.message.replaceAll("\n", " ")}`);
    return error.exitCode;
  }
}
