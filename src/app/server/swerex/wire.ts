/** What SWE-ReX clients send and get (swe-rex 1.4); fields that nobody knows are passed over. */
import * as z from "zod/mini";

const session = z._default(z.string(), "default");
const seconds = z._default(z.nullable(z.number()), null);
const text = z._default(z.string(), "");
const flag = z._default(z.boolean(), false);
const expect = z._default(z.array(z.string()), []);

/** Opens a session. */
export const createSessionRequest = z.object({
  startup_source: z._default(z.array(z.string()), []),
  session,
  session_type: z.literal("bash"),
  startup_timeout: z._default(z.number(), 1),
});

/** Runs a command in a session, or types into the program that runs there. */
export const bashAction = z.object({
  command: z.string(),
  session,
  timeout: seconds,
  is_interactive_command: flag,
  is_interactive_quit: flag,
  check: z._default(z.enum(["silent", "raise", "ignore"]), "raise"),
  error_msg: text,
  expect,
  action_type: z.literal("bash"),
});

/** Interrupts what runs in a session. */
export const interruptAction = z.object({
  session,
  timeout: z._default(z.number(), 0.2),
  n_retry: z._default(z.int(), 3),
  expect,
  action_type: z.literal("bash_interrupt"),
});

/** Either, told apart by its tag. */
export const action = z.discriminatedUnion("action_type", [bashAction, interruptAction]);

/** Either, once it is read. */
export type Action = z.infer<typeof action>;

/** Closes a session. */
export const closeSessionRequest = z.object({ session, session_type: z.literal("bash") });

/** Runs a program outside of sessions. */
export const command = z.object({
  command: z.union([z.string(), z.array(z.string())]),
  timeout: seconds,
  shell: flag,
  check: flag,
  error_msg: text,
  env: z._default(z.nullable(z.record(z.string(), z.string())), null),
  cwd: z._default(z.nullable(z.string()), null),
  merge_output_streams: flag,
});

/** Reads a file as text. */
export const readFileRequest = z.object({
  path: z.string(),
  encoding: z._default(z.nullable(z.string()), null),
  errors: z._default(z.nullable(z.string()), null),
});

/** Writes a file as UTF-8. */
export const writeFileRequest = z.object({ content: z.string(), path: z.string() });

/** What came of an action. */
export interface Observation {
  readonly output: string;
  readonly exit_code: number | null;
  readonly failure_reason: "";
  /** Which of `expect` came; empty if none did. */
  readonly expect_string: string;
  readonly session_type: "bash";
}

/** What came of a command. */
export interface CommandResponse {
  readonly stdout: string;
  readonly stderr: string;
  readonly exit_code: number | null;
}

/** Makes an observation. */
export function observe(
  output: string,
  exitCode: number | null,
  expected = "",
): Observation {
  return {
    output,
    exit_code: exitCode,
    failure_reason: "",
    expect_string: expected,
    session_type: "bash",
  };
}
