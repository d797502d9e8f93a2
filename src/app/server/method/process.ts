/** Methods on processes. */
import { abortable } from "@std/async/abortable";
import * as z from "zod/mini";
import { NotFoundError } from "../../../errors.ts";
import { SIGNAL_NAMES, type SignalName, signalNumber } from "../../signal.ts";
import type { LiveSandbox } from "../live_sandbox.ts";
import { method, type Site } from "../method.ts";
import { programFields, programOf } from "../program_wish.ts";
import {
  base64Wish,
  byteCount,
  bytesWish,
  collected,
  field,
  keep,
  milliseconds,
  outcome,
  sandboxId,
  terminal,
  toKeep,
} from "../schema.ts";
import type { ProcessEnd } from "../live_process.ts";
import { StartedProcess, type Stream } from "../started_process.ts";
import { toBytes, toText } from "../text.ts";
import { Credit } from "../credit.ts";

const processId = z.string();

const startFields = {
  sandbox: sandboxId,
  ...programFields,
  stdin: field("what it reads; nothing at all if absent", z.optional(bytesWish)),
  timeoutMs: field(
    "after so long it and all that it started are ended [the sandbox's timeoutMs]",
    z.optional(milliseconds),
  ),
  noOutputMs: field("the same once it has printed nothing for so long", z.optional(milliseconds)),
  merge: field("whether stderr comes as stdout, in order [false]", z.optional(z.boolean())),
  terminal: field("give it a terminal of this size; there is no stderr", z.optional(terminal)),
  keep: field("how much of each stream is told: 1 MiB from each end", z.optional(keep)),
  maxOutputBytes: field(
    "once it has printed more it is ended [the sandbox's limits.outputBytes]",
    z.optional(z.nullable(byteCount)),
  ),
};

const startParams = z.strictObject(startFields);

const ended = {
  outcome,
  durationMs: z.number(),
  cpuMs: z.number(),
  peakMemoryBytes: z.nullable(z.number()),
};

const printed = { stdout: collected, stderr: collected };

const run = method({
  summary: "Runs a program to its end. At a deadline, it and all that it started are ended, and " +
    "what it had printed is told.",
  params: z.strictObject({ ...startFields, base64: base64Wish }),
  result: z.strictObject({ ...ended, ...printed }),
  example: {
    params: { sandbox: "sb-5f1c09aa-1", command: "echo hi; exit 3", timeoutMs: 60000 },
    result: {
      outcome: { kind: "exited", code: 3, signal: null, reached: [] },
      durationMs: 2.1,
      cpuMs: 1.2,
      peakMemoryBytes: null,
      stdout: { text: "hi\n", lossy: false, totalBytes: 3, omittedBytes: 0 },
      stderr: { text: "", lossy: false, totalBytes: 0, omittedBytes: 0 },
    },
  },
  run: ({ base64 = false, ...params }, site) => {
    const sandbox = site.server.find(params.sandbox);
    return sandbox.use(async (gone) => {
      const id = sandbox.nextId("p");
      const process = await begin(sandbox, id, params, { site, staysOpen: false, stream: null });
      const cancel = () => process.live.stop("cancelled");
      site.call.signal.addEventListener("abort", cancel, { once: true });
      try {
        const result = await process.wait(base64);
        site.call.signal.throwIfAborted();
        return result;
      } catch (error) {
        gone.throwIfAborted();
        throw error;
      } finally {
        site.call.signal.removeEventListener("abort", cancel);
        sandbox.processes.delete(id); // what it leaves running is not ended
      }
    });
  },
});

const start = method({
  summary: "Starts a program that is written to, waited for, and ended by its id. Its output is " +
    "kept for process.wait, and with stream sent as process.output as it comes.",
  params: z.strictObject({
    ...startFields,
    stdinOpen: field("whether process.write follows [false]", z.optional(z.boolean())),
    attached: field("whether it ends with this connection [false]", z.optional(z.boolean())),
    stream: field("whether to send process.output as it prints [false]", z.optional(z.boolean())),
    creditBytes: field(
      "send about so much, and more only after process.credit [no bound]",
      z.optional(byteCount),
    ),
    base64: base64Wish,
  }),
  result: z.strictObject({ process: processId }),
  example: {
    params: { sandbox: "sb-5f1c09aa-1", command: ["python3", "-i"], stdinOpen: true, stream: true },
    result: { process: "sb-5f1c09aa-1.p2" },
  },
  run: (wish, site) => {
    const { stdinOpen = false, attached = false, stream = false, creditBytes, ...rest } = wish;
    const { base64 = false, ...params } = rest;
    const sandbox = site.server.find(params.sandbox);
    return sandbox.use(async () => {
      const id = sandbox.nextId("p");
      const credit = creditBytes === undefined ? null : new Credit(creditBytes);
      const send: Stream = async (name, offset, bytes) => {
        await credit?.take(bytes.length);
        const data = toText(bytes, base64);
        await site.call.caller.notify("process.output", {
          process: id,
          stream: name,
          offset,
          ...data,
        });
      };
      const process = await begin(sandbox, id, params, {
        site,
        staysOpen: stdinOpen,
        stream: stream ? send : null,
      });
      if (credit !== null) credits.set(process, credit);
      if (attached) attach(process, site.call.caller);
      process.live.ended.finally(() => credit?.close()).catch(() => {});
      return { process: id };
    });
  },
});

const write = method({
  summary: "Writes to the stdin of a process; with last it ends there.",
  params: z.strictObject({
    process: processId,
    data: z.optional(bytesWish),
    last: field("whether its stdin ends here [false]", z.optional(z.boolean())),
  }),
  result: z.strictObject({ written: z.boolean() }),
  run: async ({ process, data = "", last = false }, site) => {
    const { started } = find(process, site);
    return { written: await started.live.write(toBytes(data), last) };
  },
});

const grant = method({
  summary: "Lets a process that streams with credit send so many bytes more.",
  params: z.strictObject({ process: processId, bytes: byteCount }),
  result: z.strictObject({}),
  run: ({ process, bytes }, site) => {
    credits.get(find(process, site).started)?.give(bytes);
    return {};
  },
});

const signal = method({
  summary: "Sends a signal to a process; with tree it ends the process and all that it started.",
  params: z.strictObject({
    process: processId,
    signal: field(
      "a name or a number [SIGTERM]",
      z.optional(z.union([z.enum(SIGNAL_NAMES), z.int().check(z.minimum(1), z.maximum(64))])),
    ),
    tree: field("end it and all that it started, instead [false]", z.optional(z.boolean())),
  }),
  result: z.strictObject({ sent: z.boolean() }),
  run: ({ process, signal = "SIGTERM", tree = false }, site) => {
    const { started } = find(process, site);
    if (!tree) return { sent: started.live.signal(toSignal(signal)) };
    const isRunning = started.end === null;
    started.live.stop("cancelled");
    return { sent: isRunning };
  },
});

const resize = method({
  summary: "Tells a process of a new size of its terminal.",
  params: z.strictObject({ process: processId, terminal }),
  result: z.strictObject({}),
  run: ({ process, terminal }, site) => {
    find(process, site).started.live.resize(terminal);
    return {};
  },
});

const wait = method({
  summary:
    "Waits for the end of a process and tells of it, as often as it is asked. If timeoutMs " +
    "are over before, ended is null, and what was printed so far is told.",
  params: z.strictObject({
    process: processId,
    timeoutMs: field("how long to wait [until it ends]", z.optional(milliseconds)),
    base64: base64Wish,
  }),
  result: z.strictObject({
    ended: z.nullable(z.strictObject(ended)),
    ...printed,
  }),
  run: async ({ process, timeoutMs = null, base64 = false }, site) => {
    const { sandbox, started } = find(process, site);
    const end = await sandbox.use((gone) =>
      endOf(started, AbortSignal.any([site.call.signal, gone]), timeoutMs)
    );
    return { ended: end, ...started.collect(base64) };
  },
});

const list = method({
  summary: "Lists the processes of a sandbox that were started by process.start or process.run.",
  params: z.strictObject({ sandbox: sandboxId }),
  result: z.strictObject({
    processes: z.array(z.strictObject({
      process: processId,
      argv: z.readonly(z.array(z.string())),
      started: z.string(),
      outcome: z.nullable(outcome),
    })),
  }),
  run: ({ sandbox }, { server }) => ({
    processes: [...server.find(sandbox).processes].map(([process, { live, started, end }]) => ({
      process,
      argv: live.argv,
      started: started.toISOString(),
      outcome: end?.outcome ?? null,
    })),
  }),
});

/** Methods by their names. */
export const processMethods = {
  "process.run": run,
  "process.start": start,
  "process.write": write,
  "process.credit": grant,
  "process.signal": signal,
  "process.resize": resize,
  "process.wait": wait,
  "process.list": list,
};

/** What streams with credit. */
const credits = new WeakMap<StartedProcess, Credit>();

/** Ended processes that a sandbox remembers. */
const REMEMBERED = 256;

async function begin(
  sandbox: LiveSandbox,
  id: string,
  params: z.infer<typeof startParams>,
  { site, staysOpen, stream }: {
    readonly site: Site;
    readonly staysOpen: boolean;
    readonly stream: Stream | null;
  },
): Promise<StartedProcess> {
  const { spec, sandbox: room } = sandbox.parts;
  const { timeoutMs = spec.timeoutMs, noOutputMs = null, maxOutputBytes, merge = false } = params;
  const started = await StartedProcess.start(room, programOf(sandbox, params, site.server.node), {
    stdin: params.stdin === undefined ? null : toBytes(params.stdin),
    staysOpen,
    terminal: params.terminal ?? null,
    isMerged: merge,
    timeoutMs,
    noOutputMs,
    maxOutputBytes: maxOutputBytes === undefined ? spec.limits.outputBytes : maxOutputBytes,
    keep: toKeep(params.keep),
    stream,
  });
  sandbox.processes.set(id, started);
  started.live.ended.then(({ outcome }) => site.server.metrics.noteCommand(outcome), () => {});
  const over = [...sandbox.processes].filter(([, { end }]) => end !== null);
  for (const [old] of over.slice(0, -REMEMBERED)) sandbox.processes.delete(old);
  return started;
}

/** It ends when its caller goes. */
function attach({ live }: StartedProcess, { gone }: Site["call"]["caller"]): void {
  const stop = () => live.stop("cancelled");
  gone.addEventListener("abort", stop, { once: true });
  live.ended.finally(() => gone.removeEventListener("abort", stop)).catch(() => {});
  if (gone.aborted) stop();
}

/** The id of a process begins with that of its sandbox. */
function find(
  id: string,
  { server }: Site,
): { readonly sandbox: LiveSandbox; readonly started: StartedProcess } {
  const sandbox = server.find(id.slice(0, Math.max(0, id.lastIndexOf("."))));
  const started = sandbox.processes.get(id);
  if (started !== undefined) return { sandbox, started };
  throw new NotFoundError(`Cannot use process "${id}": there is none of this id`, {
    remedy: "See process.list.",
  });
}

/** Waits, but only so long: then null. */
async function endOf(
  { live }: StartedProcess,
  signal: AbortSignal,
  timeoutMs: number | null,
): Promise<ProcessEnd | null> {
  if (timeoutMs === null) return await abortable(live.ended, signal);
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    return await abortable(live.ended, AbortSignal.any([signal, timeout]));
  } catch (error) {
    if (timeout.aborted && !signal.aborted && error === timeout.reason) return null;
    throw error;
  }
}

function toSignal(signal: SignalName | number): number {
  return typeof signal === "number" ? signal : signalNumber(signal);
}
