/** Sessions as SWE-ReX clients use them, on top of ours. */
import type * as z from "zod/mini";
import { GoneError } from "../../../errors.ts";
import type { Exchange, RunResult, Shell } from "../../../session/mod.ts";
import type { Node } from "../../node.ts";
import type { LiveSandbox } from "../live_sandbox.ts";
import type { Metrics } from "../metrics.ts";
import { hasSession, openNamedSession } from "../open_session.ts";
import { programOf } from "../program_wish.ts";
import { Raised } from "./failure.ts";
import { echoless, plain } from "./output.ts";
import { toPatterns } from "./pattern.ts";
import {
  type Action,
  type bashAction,
  type closeSessionRequest,
  type createSessionRequest,
  type interruptAction,
  type Observation,
  observe,
} from "./wire.ts";

/** An oddity of the reference that a client may count on. */
export type Compat = "kill-word";

/** Where sessions are, and how they are told of. */
export interface SessionSite {
  readonly node: Node;
  readonly metrics: Metrics;
  readonly compat: ReadonlySet<Compat>;
}

type BashAction = z.infer<typeof bashAction>;

/** So much of an output is told from each end. */
const KEPT = { headBytes: 32 << 20, tailBytes: 32 << 20 };

/** The longest time that a timer takes. */
const MOST_MS = 2 ** 31 - 1;

/** What a session owes to whoever asks next. */
interface Debt {
  /** What a command had printed when it was ended for its time: an interrupt tells it. */
  partial: string;
  /** The command that was ended by force, as a shell would name it. */
  killed: string | null;
}

const debts = new WeakMap<Shell, Debt>();

/** Opens a session. @throws {Raised} If there is one of this name, or it is not ready in time. */
export async function createSession(
  sandbox: LiveSandbox,
  { session: name, startup_source: sources, startup_timeout }: z.infer<typeof createSessionRequest>,
  { node }: SessionSite,
): Promise<{ readonly output: string; readonly session_type: "bash" }> {
  if (hasSession(sandbox, name)) {
    throw new Raised("sessionExists", `session ${name} already exists`);
  }
  const program = programOf(sandbox, { command: ["bash"] }, node);
  const shell = await openNamedSession(sandbox, name, { program });
  debts.set(shell, { partial: "", killed: null });
  if (sources.length === 0) return { output: "", session_type: "bash" };
  const text = sources.map((path) => `source ${path}`).join(" ; ");
  const ran = await sandbox.use(() => shell.run(text, { timeoutMs: toMs(startup_timeout) }));
  if (ran.outcome.kind !== "timedOut") return { output: plain(ran), session_type: "bash" };
  sandbox.sessions.delete(name);
  await shell.close();
  throw new Raised(
    "startupTimeout",
    `timeout after ${startup_timeout} seconds while starting the session ${JSON.stringify(name)}`,
  );
}

/** Does something in a session. @throws {Raised} As SWE-ReX's own runtime does. */
export function runInSession(
  sandbox: LiveSandbox,
  action: Action,
  site: SessionSite,
): Promise<Observation> {
  const shell = findShell(sandbox, action.session);
  return sandbox.use(async () => {
    try {
      if (action.action_type === "bash_interrupt") return await interrupt(shell, action);
      const { is_interactive_command, is_interactive_quit, expect } = action;
      if (is_interactive_command || is_interactive_quit) return await interact(shell, action);
      if (expect.length > 0) return await runUpTo(shell, action);
      return await runNormal(shell, action, site);
    } catch (error) {
      // The client may open another one of this name.
      if (!(error instanceof GoneError) || sandbox.reason !== null) throw error;
      throw new Raised("noSession", error.message, { cause: error });
    }
  });
}

/** Closes a session. @throws {Raised} If there is none. */
export async function closeSession(
  sandbox: LiveSandbox,
  { session: name }: z.infer<typeof closeSessionRequest>,
): Promise<{ readonly session_type: "bash" }> {
  const shell = sandbox.sessions.get(name);
  if (shell === undefined) throw noSession(name);
  sandbox.sessions.delete(name);
  await shell.close();
  return { session_type: "bash" };
}

/** Closes the sessions that were opened here. */
export async function closeSessions(sandbox: LiveSandbox): Promise<void> {
  const own = [...sandbox.sessions].filter(([, shell]) => debts.has(shell));
  for (const [name] of own) sandbox.sessions.delete(name);
  await Promise.all(own.map(([, shell]) => shell.close()));
}

async function runNormal(
  shell: Shell,
  action: BashAction,
  { metrics, compat }: SessionSite,
): Promise<Observation> {
  const { command, timeout } = action;
  const ran = await shell.run(command, {
    output: KEPT,
    ...(timeout === null ? {} : { timeoutMs: toMs(timeout) }),
  });
  metrics.noteCommand(ran.outcome);
  const debt = debts.get(shell);
  const killed = debt?.killed ?? null;
  if (debt !== undefined) {
    debt.partial = ran.outcome.kind === "timedOut" ? plain(ran) : "";
    debt.killed = ran.wasKilled && compat.has("kill-word") ? command : null;
  }
  const notice = killed === null ? "" : `[1]+  Killed                  ${killed}\n`;
  return finish(action, ran, notice + plain(ran));
}

/** A normal command of which some output is waited for: it may go on then. */
async function runUpTo(shell: Shell, action: BashAction): Promise<Observation> {
  const got = await shell.start(action.command, waiting(action));
  if (got.result !== null) return finish(action, got.result, plain(got.result));
  const output = shown(got, action);
  if (action.check === "raise") {
    throw new Raised("noExitCode", "the command goes on: it has no exit code", {
      extraInfo: { output },
    });
  }
  return observe(output, null, matched(got, action.expect));
}

/** Starts an interactive program, or types a line into the one that runs. */
async function interact(shell: Shell, action: BashAction): Promise<Observation> {
  const isQuit = action.is_interactive_quit;
  const wish = waiting(action);
  const got = shell.hasProgram
    ? await shell.send(`${action.command}\n`, { ...wish, isQuit })
    : await shell.start(action.command, wish);
  const code = got.result === null ? 0 : exitCode(got.result);
  return observe(shown(got, action), code, matched(got, action.expect));
}

async function interrupt(
  shell: Shell,
  { timeout, n_retry, expect }: z.infer<typeof interruptAction>,
): Promise<Observation> {
  const got = await shell.interrupt({
    expect: toPatterns(expect),
    timeoutMs: toMs(timeout),
    retries: n_retry,
  });
  const debt = debts.get(shell);
  const partial = debt?.partial ?? "";
  if (debt !== undefined) debt.partial = "";
  const rest = got === null ? "" : plain({ output: got.output });
  return observe((partial + rest).trim(), 0, got === null ? "" : matched(got, expect));
}

/** Tells of a command that has ended, as `check` wants it. */
function finish(
  { command, check, error_msg, timeout }: BashAction,
  ran: RunResult,
  output: string,
): Observation {
  const { outcome } = ran;
  if (outcome.kind === "syntaxError") {
    throw new Raised(
      "syntax",
      `Error while checking bash command \n${JSON.stringify(command)}\n---- Stderr ----\n` +
        outcome.message,
      { extraInfo: { bash_stdout: "", bash_stderr: outcome.message } },
    );
  }
  if (outcome.kind === "timedOut") throw timedOut(command, timeout);
  if (outcome.kind === "outputLimit" || outcome.kind === "noOutput") {
    throw new Raised("other", `the command ${JSON.stringify(command)} has printed too much`);
  }
  const code = exitCode(ran);
  if (check === "ignore") return observe(output, null);
  if (check === "silent" || code === 0) return observe(output, code);
  const said = error_msg === "" ? "" : `${error_msg}: `;
  const shownCommand = `${said}Command ${JSON.stringify(command)}`;
  if (code === null) {
    throw new Raised("noExitCode", `${shownCommand} has ended the session, without an exit code`);
  }
  throw new Raised(
    "nonZeroExit",
    `${shownCommand} failed with exit code ${code}. Here is the output:\n` +
      JSON.stringify(output),
  );
}

/** Null where the shell itself was ended by a signal. */
function exitCode({ outcome }: RunResult): number | null {
  if (outcome.kind === "exited") return outcome.code;
  return outcome.kind === "interrupted" ? SIGINT_STATUS : null;
}

const SIGINT_STATUS = 130;

function waiting(
  { expect, timeout }: BashAction,
): { readonly expect: RegExp[]; readonly timeoutMs: number | null } {
  return { expect: toPatterns(expect), timeoutMs: timeout === null ? null : toMs(timeout) };
}

/** What an interactive program has printed. @throws {Raised} If what was waited for did not come. */
function shown(got: Exchange, { command, timeout }: BashAction): string {
  if (got.isTimedOut) throw timedOut(command, timeout);
  if (got.result?.outcome.kind === "syntaxError") {
    const { message } = got.result.outcome;
    throw new Raised("syntax", message, {
      extraInfo: { bash_stdout: "", bash_stderr: message },
    });
  }
  return echoless(plain({ output: got.output }), command);
}

function matched({ match }: Exchange, expect: readonly string[]): string {
  return match === null ? "" : expect[match.index]!;
}

function timedOut(command: string, timeout: number | null): Raised {
  return new Raised(
    "timeout",
    `timeout after ${timeout} seconds while running command ${JSON.stringify(command)}`,
  );
}

function findShell(sandbox: LiveSandbox, name: string): Shell {
  const shell = sandbox.sessions.get(name);
  if (shell === undefined) throw noSession(name);
  return shell;
}

function noSession(name: string): Raised {
  return new Raised("noSession", `session ${JSON.stringify(name)} does not exist`);
}

/** Turns seconds into what a timer takes. */
function toMs(seconds: number): number {
  return Math.min(MOST_MS, Math.max(0, seconds * 1000));
}
