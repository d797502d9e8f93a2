/** `execute`: a program outside of sessions, as Python's `subprocess.run` runs it. */
import type * as z from "zod/mini";
import { concat } from "@std/bytes/concat";
import { CommandError, UsageError } from "../../../errors.ts";
import type { Node } from "../../node.ts";
import { signalNumber } from "../../signal.ts";
import { LiveProcess, type ProcessEnd } from "../live_process.ts";
import type { LiveSandbox } from "../live_sandbox.ts";
import type { Metrics } from "../metrics.ts";
import { programOf } from "../program_wish.ts";
import { Raised } from "./failure.ts";
import { decodeOutput } from "./python_text.ts";
import type { command, CommandResponse } from "./wire.ts";

type Command = z.infer<typeof command>;
type Bytes = Uint8Array<ArrayBuffer>;

const SHELL = ["/bin/sh", "-c"];

/** An answer holds so much of each stream at most; a program that prints more is ended. */
const MOST_BYTES = 64 << 20;

/** Runs it to its end. @throws {Raised} As SWE-ReX's own runtime does. */
export async function execute(
  sandbox: LiveSandbox,
  wish: Command,
  { node, metrics }: { readonly node: Node; readonly metrics: Metrics },
): Promise<CommandResponse> {
  const { timeout, check, error_msg } = wish;
  const printed: Readonly<Record<"stdout" | "stderr", Bytes[]>> = { stdout: [], stderr: [] };
  const { outcome } = await sandbox.use(async () => {
    const live = await start(sandbox, wish, {
      node,
      onOutput: (name, bytes) => void printed[name].push(bytes.slice()),
    });
    return await live.ended;
  });
  metrics.noteCommand(outcome);
  if (outcome.kind === "timedOut") {
    throw new Raised("timeout", `Timeout (${timeout}s) exceeded while running command`);
  }
  if (outcome.kind === "outputLimit") {
    throw new Raised("other", `The command has printed more than ${MOST_BYTES} bytes`);
  }
  const result = {
    stdout: decodeOutput(concat(printed.stdout)),
    stderr: decodeOutput(concat(printed.stderr)),
    exit_code: toReturnCode(outcome),
  };
  if (!check || result.exit_code === 0) return result;
  const said = error_msg === "" ? "" : `${error_msg}: `;
  throw new Raised(
    "nonZeroExit",
    `${said}Command ${JSON.stringify(wish.command)} failed with exit code ${result.exit_code}. ` +
      `Stdout:\n${JSON.stringify(result.stdout)}\nStderr:\n${JSON.stringify(result.stderr)}`,
  );
}

async function start(
  sandbox: LiveSandbox,
  wish: Command,
  { node, onOutput }: {
    readonly node: Node;
    readonly onOutput: (name: "stdout" | "stderr", bytes: Bytes) => void;
  },
): Promise<LiveProcess> {
  const { spec, sandbox: room } = sandbox.parts;
  const { timeout, cwd, env, merge_output_streams: isMerged } = wish;
  try {
    const program = programOf(sandbox, {
      command: toArgv(wish),
      ...(cwd === null ? {} : { cwd: toAbsolute(cwd, spec.workdir) }),
      ...(env === null ? {} : { env, clearEnv: true }),
    }, node);
    return await LiveProcess.start(room, program, {
      stdin: null,
      staysOpen: false,
      terminal: null,
      isMerged,
      timeoutMs: timeout === null ? spec.timeoutMs : Math.min(2 ** 31 - 1, timeout * 1000),
      noOutputMs: null,
      maxOutputBytes: MOST_BYTES,
      onOutput,
    });
  } catch (error) {
    if (error instanceof CommandError) {
      throw new Raised(error.exitCode === 127 ? "noFile" : "denied", error.message, {
        cause: error,
      });
    }
    if (error instanceof UsageError) throw new Raised("value", error.message, { cause: error });
    throw error;
  }
}

/** With a shell the first word is text, and the others are its arguments. */
function toArgv({ command, shell }: Command): readonly string[] {
  const words = typeof command === "string" ? [command] : command;
  if (words.length === 0) throw new UsageError("Cannot run: there is no command");
  return shell ? [...SHELL, ...words] : words;
}

function toAbsolute(path: string, from: string): string {
  return path.startsWith("/") ? path : `${from.replace(/\/+$/, "")}/${path}`;
}

/** As `Popen.returncode` has it: a signal is its number below zero. */
function toReturnCode({ code, signal }: ProcessEnd["outcome"]): number | null {
  if (code !== null) return code;
  return signal === null ? null : -signalNumber(signal as Parameters<typeof signalNumber>[0]);
}
