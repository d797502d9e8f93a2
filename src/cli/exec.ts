/** `minisandbox exec` and `shell`: a command in a sandbox of a server that runs. */
import { UsageError } from "../errors.ts";
import { parseOptions } from "./option.ts";
import { runRemote } from "./remote_command.ts";
import type { Subcommand } from "./subcommand.ts";
import { toVariables } from "./variable.ts";

const COMMON = `      --socket PATH     the server's socket [$MINISANDBOX_SOCKET]
  -w, --workdir DIR     start there [the sandbox's]
  -e, --env K[=V]       set a variable; without a value, ours; may be repeated
      --user UID|NAME   [the sandbox's]`;

const EXEC_HELP = `Usage: minisandbox exec [OPTION]... SANDBOX -- COMMAND [ARGUMENT]...

Runs a command in a sandbox of a server that runs. It is ended when we are.

Options:
${COMMON}
  -i, --interactive     give it our stdin; else it reads nothing
  -t, --tty             give it a terminal
      --help            print this

Exit codes: as of run.

Examples:
  minisandbox exec sb-5f1c09aa-1 -- git status
  minisandbox exec -it sb-5f1c09aa-1 -- python3`;

const SHELL_HELP = `Usage: minisandbox shell [OPTION]... SANDBOX

Opens a shell in a sandbox of a server that runs: exec -it SANDBOX -- bash.

Options:
${COMMON}
      --help            print this

Example:
  minisandbox shell sb-5f1c09aa-1`;

const OPTIONS = {
  socket: { kind: "value" },
  workdir: { kind: "value", alias: "w" },
  env: { kind: "list", alias: "e" },
  user: { kind: "value" },
} as const;

const EXEC_OPTIONS = {
  ...OPTIONS,
  interactive: { kind: "flag", alias: "i" },
  tty: { kind: "flag", alias: "t" },
} as const;

/** The subcommand `exec`. */
export const execCommand: Subcommand = {
  name: "exec",
  summary: "run a command in a sandbox of a server that runs",
  help: EXEC_HELP,
  run: async (argv) => {
    const { options, operands, rest } = parseOptions(EXEC_OPTIONS, argv);
    const [sandbox, extra] = operands;
    if (sandbox === undefined || extra !== undefined || rest === null || rest.length === 0) {
      throw new UsageError("Cannot read the command line: a sandbox and a command are needed", {
        remedy: "Give them as: minisandbox exec SANDBOX -- COMMAND.",
      });
    }
    return await runRemote({
      ...common(options),
      sandbox,
      command: rest,
      isInteractive: options.interactive,
      isTerminal: options.tty,
    });
  },
};

/** The subcommand `shell`. */
export const shellCommand: Subcommand = {
  name: "shell",
  summary: "open a shell in a sandbox of a server that runs",
  help: SHELL_HELP,
  run: async (argv) => {
    const { options, operands: [sandbox, extra] } = parseOptions(OPTIONS, argv);
    if (sandbox === undefined || extra !== undefined) {
      throw new UsageError("Cannot read the command line: one sandbox is needed", {
        remedy: "Give it as: minisandbox shell SANDBOX.",
      });
    }
    const command = ["bash", "-i"];
    return await runRemote({
      ...common(options),
      sandbox,
      command,
      isInteractive: true,
      isTerminal: true,
    });
  },
};

function common(
  { socket, workdir, env, user }: {
    readonly socket: string | undefined;
    readonly workdir: string | undefined;
    readonly env: readonly string[];
    readonly user: string | undefined;
  },
): {
  readonly socket: string | undefined;
  readonly cwd: string | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly user: string | undefined;
} {
  return { socket, cwd: workdir, env: toVariables(env), user };
}
