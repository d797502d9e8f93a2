/** Why a command could not be executed, told from what each attempt answered (execve(2)). */
import { describeErrno, ERRNO } from "../../ffi/mod.ts";
import { CommandError } from "../errors.ts";
import { candidates, type Program } from "./process_plan.ts";

/**
 * Makes the error: 127 if the command was found nowhere, else 126.
 *
 * @param tried What each attempt returned, negative error numbers, in the order of the candidates.
 */
export function commandError(program: Program, tried: readonly number[]): CommandError {
  const { argv: [command], searchPath } = program;
  const missing = new Set<number>([ERRNO.ENOENT, ERRNO.ENOTDIR]);
  const found = tried.findIndex((result) => !missing.has(-result));
  if (found < 0) {
    const where = command.includes("/")
      ? "no such file inside, or its interpreter is missing"
      : `not found in ${searchPath.join(":")}`;
    return new CommandError(127, `Cannot execute "${command}": ${where}`);
  }
  const errno = -tried[found]!;
  return new CommandError(
    126,
    `Cannot execute "${candidates(program)[found] ?? command}": ${describeErrno(errno)}`,
    errno === ERRNO.ENOEXEC ? { remedy: "A script needs a first line such as #!/bin/sh." } : {},
  );
}
