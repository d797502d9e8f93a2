/** Methods on sessions: shells that live across calls. */
import * as z from "zod/mini";
import { NotFoundError, UsageError } from "../../../errors.ts";
import type { Exchange, Pattern, RunResult, Shell } from "../../../session/mod.ts";
import { toCollected } from "../collected.ts";
import type { LiveSandbox } from "../live_sandbox.ts";
import { method, type Site } from "../method.ts";
import { openNamedSession } from "../open_session.ts";
import { programOf } from "../program_wish.ts";
import {
  base64Wish,
  byteCount,
  bytesWish,
  collected,
  field,
  keep,
  milliseconds,
  sandboxId,
  sessionOutcome,
  strings,
  terminal,
  text,
  toKeep,
} from "../schema.ts";
import { sessionStream } from "../session_stream.ts";
import { toSessionOutcome } from "../session_outcome.ts";
import { type Base64Wish, toBytes, toText } from "../text.ts";

const where = {
  sandbox: sandboxId,
  session: field("its name [default]", z.optional(z.string().check(z.minLength(1)))),
};

const pattern = z.union([
  z.string(),
  z.strictObject({ regex: z.string(), flags: z.optional(z.string()) }),
]);

const expecting = {
  expect: field(
    "what to wait for: text, or a regular expression, which sees the last 64 KiB",
    z.optional(z.array(pattern)),
  ),
  timeoutMs: field("how long to wait [for ever]", z.optional(milliseconds)),
  base64: base64Wish,
};

const result = z.strictObject({
  outcome: sessionOutcome,
  output: collected,
  background: field(
    "what was printed by what runs in the background since the command before",
    z.extend(collected, {}),
  ),
  restarted: field(
    "whether the shell is a new one: the directory and the exports are those of the old, no more",
    z.boolean(),
  ),
  ended: field("whether the shell has ended with it: the session is gone", z.boolean()),
});

const exchange = z.strictObject({
  output: field("what was printed up to the match, or all of it", z.extend(text, {})),
  match: z.nullable(z.strictObject({ index: z.int(), text: z.string() })),
  timedOut: z.boolean(),
  result: field("what the program came to, if it has ended", z.nullable(z.extend(result, {}))),
});

const create = method({
  summary: "Opens a session: a bash on a terminal of its own that keeps directory, variables, " +
    "functions and jobs from call to call.",
  params: z.strictObject({
    ...where,
    startupSources: field("files that it reads first", z.optional(z.array(z.string()))),
    cwd: z.optional(z.string()),
    env: z.optional(strings),
    user: z.optional(z.union([z.string(), z.int()])),
    terminal: z.optional(terminal),
    startupTimeoutMs: z.optional(milliseconds),
    timeoutMs: field("of each command that has none of its own", z.optional(milliseconds)),
  }),
  result: z.strictObject({
    session: z.string(),
    startup: field("what the files printed, and how they ended", z.nullable(z.extend(result, {}))),
  }),
  example: {
    params: { sandbox: "sb-5f1c09aa-1" },
    result: { session: "default", startup: null },
  },
  run: async ({ sandbox: id, session: name = DEFAULT_NAME, ...wish }, site) => {
    const sandbox = site.server.find(id);
    const { cwd, env, user, startupSources, startupTimeoutMs, timeoutMs } = wish;
    const program = programOf(sandbox, { command: ["bash"], cwd, env, user }, site.server.node);
    const { startup } = await openNamedSession(sandbox, name, {
      program,
      ...(timeoutMs === undefined ? {} : { commandTimeoutMs: timeoutMs }),
      ...(startupSources === undefined ? {} : { startupSource: startupSources }),
      ...(wish.terminal === undefined ? {} : { size: wish.terminal }),
      ...(startupTimeoutMs === undefined || startupTimeoutMs === null ? {} : { startupTimeoutMs }),
    });
    return { session: name, startup: startup === null ? null : toResult(startup, false) };
  },
});

const run = method({
  summary:
    "Runs shell text in a session, after what was asked of it before. At a deadline it and " +
    "all that it started are ended, and the session goes on. It reads nothing.",
  params: z.strictObject({
    ...where,
    command: bytesWish,
    timeoutMs: field("[that of the session]", z.optional(milliseconds)),
    noOutputMs: field("end it once it has printed nothing for so long", z.optional(milliseconds)),
    keep: field("how much is told: 1 MiB from each end", z.optional(keep)),
    maxOutputBytes: field(
      "once it has printed more it is ended [the sandbox's limits.outputBytes]",
      z.optional(z.nullable(byteCount)),
    ),
    checkSyntax: field("parse all of it before any of it is run [true]", z.optional(z.boolean())),
    streamToken: field(
      "send session.output with this as it prints",
      z.optional(z.union([z.string(), z.int()])),
    ),
    base64: base64Wish,
  }),
  result,
  example: {
    params: { sandbox: "sb-5f1c09aa-1", command: "cd /tmp && x=1; pwd" },
    result: {
      outcome: { kind: "exited", code: 0, signal: null, message: null },
      output: { text: "/tmp\n", lossy: false, totalBytes: 5, omittedBytes: 0 },
      background: { text: "", lossy: false, totalBytes: 0, omittedBytes: 0 },
      restarted: false,
      ended: false,
    },
  },
  run: async (params, site) => {
    const { sandbox, session, name } = find(params, site);
    const { timeoutMs, noOutputMs = null, maxOutputBytes, checkSyntax = true, base64 = false } =
      params;
    const { limits } = sandbox.parts.spec;
    const stream = params.streamToken === undefined ? {} : {
      onOutput: sessionStream(site.call.caller, {
        sandbox: sandbox.id,
        session: name,
        token: params.streamToken,
      }, base64),
    };
    const ran = await sandbox.use(() =>
      session.run(toCommand(params.command), {
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
        noOutputMs,
        maxTotalBytes: maxOutputBytes === undefined ? limits.outputBytes : maxOutputBytes,
        checkSyntax,
        output: toKeep(params.keep),
        signal: site.call.signal,
        ...stream,
      })
    );
    site.call.signal.throwIfAborted();
    site.server.metrics.noteCommand(ran.outcome);
    return toResult(ran, base64);
  },
});

const start = method({
  summary: "Starts an interactive program in a session, and gives what it prints up to the first " +
    "match. It goes on, and reads what session.send gives it.",
  params: z.strictObject({ ...where, command: bytesWish, ...expecting }),
  result: exchange,
  run: async ({ base64 = false, ...params }, site) => {
    const { sandbox, session } = find(params, site);
    const { timeoutMs = null } = params;
    const expect = toPatterns(params.expect);
    const got = await sandbox.use(() =>
      session.start(toCommand(params.command), { expect, timeoutMs })
    );
    return toExchange(got, base64);
  },
});

const send = method({
  summary: "Types into the terminal of an interactive program, and waits as session.start does; " +
    "with quit for its end.",
  params: z.strictObject({
    ...where,
    input: bytesWish,
    quit: field("whether the program shall end by it [false]", z.optional(z.boolean())),
    ...expecting,
  }),
  result: exchange,
  run: async ({ base64 = false, ...params }, site) => {
    const { sandbox, session } = find(params, site);
    const { timeoutMs = null, quit = false } = params;
    const expect = toPatterns(params.expect);
    const got = await sandbox.use(() =>
      session.send(toBytes(params.input), { expect, timeoutMs, isQuit: quit })
    );
    return toExchange(got, base64);
  },
});

const interrupt = method({
  summary:
    "Interrupts what runs in a session, as Ctrl-C does; what takes no notice is killed. The " +
    "session goes on. Of an interactive program it gives what came up to the first match.",
  params: z.strictObject({
    ...where,
    expect: expecting.expect,
    timeoutMs: field("how long each attempt is given [200]", z.optional(z.number())),
    retries: field("how often it is tried [3]", z.optional(z.int())),
    base64: base64Wish,
  }),
  result: z.strictObject({
    exchange: field("null if no interactive program ran", z.nullable(z.extend(exchange, {}))),
  }),
  run: async ({ base64 = false, ...params }, site) => {
    const { sandbox, session } = find(params, site);
    const { timeoutMs, retries } = params;
    const got = await sandbox.use(() =>
      session.interrupt({
        expect: toPatterns(params.expect),
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
        ...(retries === undefined ? {} : { retries }),
      })
    );
    return { exchange: got === null ? null : toExchange(got, base64) };
  },
});

const resize = method({
  summary: "Tells the programs of a session of a new size of its terminal.",
  params: z.strictObject({ ...where, terminal }),
  result: z.strictObject({}),
  run: (params, site) => {
    find(params, site).session.resize(params.terminal);
    return {};
  },
});

const close = method({
  summary: "Ends a session and what it has started, in any state; twice is harmless.",
  params: z.strictObject(where),
  result: z.strictObject({ closed: z.boolean() }),
  run: async ({ sandbox: id, session: name = DEFAULT_NAME }, { server }) => {
    const sandbox = server.find(id);
    const session = sandbox.sessions.get(name);
    if (session === undefined) return { closed: false };
    sandbox.sessions.delete(name);
    await session.close();
    return { closed: true };
  },
});

const list = method({
  summary: "Lists the sessions of a sandbox.",
  params: z.strictObject({ sandbox: sandboxId }),
  result: z.strictObject({
    sessions: z.array(z.strictObject({ session: z.string(), open: z.boolean() })),
  }),
  run: ({ sandbox }, { server }) => ({
    sessions: [...server.find(sandbox).sessions].map(([session, shell]) => ({
      session,
      open: shell.isOpen,
    })),
  }),
});

/** Methods by their names. */
export const sessionMethods = {
  "session.create": create,
  "session.run": run,
  "session.start": start,
  "session.send": send,
  "session.interrupt": interrupt,
  "session.resize": resize,
  "session.close": close,
  "session.list": list,
};

const DEFAULT_NAME = "default";

function find(
  { sandbox: id, session: name = DEFAULT_NAME }: {
    readonly sandbox: string;
    readonly session?: string | undefined;
  },
  { server }: Site,
): { readonly sandbox: LiveSandbox; readonly session: Shell; readonly name: string } {
  const sandbox = server.find(id);
  const session = sandbox.sessions.get(name);
  if (session !== undefined) return { sandbox, session, name };
  throw new NotFoundError(`Cannot use session "${name}": the sandbox has none of this name`, {
    remedy: "Open it by session.create.",
  });
}

function toCommand(command: z.infer<typeof bytesWish>): string | Uint8Array<ArrayBuffer> {
  return typeof command === "string" ? command : toBytes(command);
}

/** @throws {UsageError} If an expression is none. */
function toPatterns(wishes: readonly z.infer<typeof pattern>[] = []): Pattern[] {
  return wishes.map((wish) => {
    if (typeof wish === "string") return wish;
    try {
      return new RegExp(wish.regex, wish.flags);
    } catch (error) {
      throw new UsageError(`Cannot expect ${JSON.stringify(wish.regex)}: it is no expression`, {
        cause: error,
      });
    }
  });
}

function toResult(ran: RunResult, base64: Base64Wish): z.infer<typeof result> {
  return {
    outcome: toSessionOutcome(ran.outcome),
    output: toCollected(ran.output, base64),
    background: toCollected(ran.before, base64),
    restarted: ran.restarted,
    ended: ran.ended !== null,
  };
}

function toExchange(
  { output, match, isTimedOut, result }: Exchange,
  base64: Base64Wish,
): z.infer<typeof exchange> {
  return {
    output: toText(output, base64),
    match: match === null ? null : { index: match.index, text: toText(match.bytes, false).text },
    timedOut: isTimedOut,
    result: result === null ? null : toResult(result, base64),
  };
}
