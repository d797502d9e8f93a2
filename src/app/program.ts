/** The program of a spec: its environment starts from a fixed clean set. */
import { UsageError } from "../errors.ts";
import type { Program } from "../sandbox/mod.ts";
import type { SandboxSpec } from "./spec.ts";
import type { User } from "./user.ts";

/** Where commands are looked for inside. */
export const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/**
 * Makes the program.
 *
 * @param isBare Whether its environment is the spec's alone, without the fixed set.
 * @throws {UsageError} If the spec has no command.
 */
export function toProgram(
  spec: Pick<SandboxSpec, "command" | "env" | "workdir" | "hardening">,
  user: User,
  isBare = false,
): Program {
  const [command, ...rest] = spec.command;
  if (command === undefined) {
    throw new UsageError("Cannot run: there is no command", {
      remedy: "Give it after --, such as: minisandbox run -- bash -c 'echo hi'.",
    });
  }
  const fixed = { PATH, HOME: user.home, LANG: "C.UTF-8", TERM: "dumb" };
  const env = isBare ? spec.env : { ...fixed, ...spec.env };
  return {
    argv: [command, ...rest],
    env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
    searchPath: (env["PATH"] ?? PATH).split(":"),
    workdir: spec.workdir,
    uid: user.uid,
    gid: user.gid,
    groups: user.groups,
    hardening: spec.hardening,
    pty: null,
    hasStdin: false,
  };
}
