/** A program as a caller asks for it in a live sandbox: by words, or as text for a shell. */
import * as z from "zod/mini";
import { HostError, UsageError } from "../../errors.ts";
import type { Program } from "../../sandbox/mod.ts";
import type { Node } from "../node.ts";
import { toProgram } from "../program.ts";
import { checkSpec } from "../spec.ts";
import { findUser, type User } from "../user.ts";
import type { LiveSandbox } from "./live_sandbox.ts";
import { field } from "./schema.ts";

/** The fields that say what is executed. */
export const programFields = {
  command: field(
    "its words; or text, which the shell gets as its last word",
    z.union([z.string(), z.array(z.string()).check(z.minLength(1))]),
  ),
  shell: z.optional(
    field("what runs text [bash -c]", z.array(z.string()).check(z.minLength(1))),
  ),
  cwd: z.optional(field("where it starts [the sandbox's workdir]", z.string())),
  env: z.optional(field("variables beside those of the sandbox", z.record(z.string(), z.string()))),
  clearEnv: z.optional(field("whether env is its whole environment [false]", z.boolean())),
  user: z.optional(
    field("a name or an id [the sandbox's user]", z.union([z.string(), z.int()])),
  ),
};

/** What is executed. */
export interface ProgramWish {
  /** Its words, or text that the shell gets as its last word. */
  readonly command: string | readonly string[];
  readonly shell?: readonly string[] | undefined;
  readonly cwd?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Whether `env` is all of its environment. */
  readonly clearEnv?: boolean | undefined;
  readonly user?: string | number | undefined;
}

const SHELL = ["bash", "-c"];

/**
 * Makes the program.
 *
 * @throws {UsageError | HostError} If it cannot be one.
 */
export function programOf({ parts }: LiveSandbox, wish: ProgramWish, node: Node): Program {
  const { spec, prepared } = parts;
  const { command, shell = SHELL, cwd, env = {}, clearEnv = false } = wish;
  const words = typeof command === "string" ? [...shell, command] : [...command];
  const wanted = {
    ...spec,
    command: words,
    workdir: cwd ?? spec.workdir,
    env: clearEnv ? env : { ...spec.env, ...env },
  };
  checkSpec(wanted);
  if (words[0] === "") throw new UsageError("Cannot run: the command is empty");
  return toProgram(wanted, userOf(wish.user, prepared, node), clearEnv);
}

/** A user without subordinate ids has one, which the sandbox was made with. */
function userOf(
  wanted: string | number | undefined,
  { base, user }: LiveSandbox["parts"]["prepared"],
  { host }: Node,
): User {
  if (wanted === undefined) return user;
  const found = findUser(base.users, wanted, host);
  if (host.identity.kind === "single" && found.uid !== user.uid) {
    throw new HostError(
      `Cannot run as user ${found.uid}: this sandbox has the one id ${user.uid}`,
      {
        remedy: "Give sandbox.create the user, or have the administrator add subordinate ids.",
      },
    );
  }
  return found;
}
