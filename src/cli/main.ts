/** The command line: finds the subcommand and runs it. */
import { VERSION } from "../version.ts";

/**
 * Runs one command line.
 *
 * @param args The arguments after the program's name.
 * @returns The exit code.
 */
export function main(args: readonly string[]): Promise<number> {
  if (args[0] === "--version") {
    console.log(`minisandbox ${VERSION}`);
    return Promise.resolve(0);
  }
  console.error("minisandbox: Cannot read the command line: no known command. Try --version.");
  return Promise.resolve(125);
}
