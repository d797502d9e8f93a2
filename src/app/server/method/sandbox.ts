/** Methods on sandboxes. */
import * as z from "zod/mini";
import { UsageError } from "../../../errors.ts";
import { specSchema, toWish } from "../../spec_json.ts";
import { settleSpec } from "../../settle.ts";
import type { LiveSandbox } from "../live_sandbox.ts";
import { method, type Site } from "../method.ts";
import { field, milliseconds, sandboxId, strings } from "../schema.ts";
import type { LayerEvent } from "../../layer.ts";
import type { Server } from "../server.ts";

const phases = z.record(z.string(), z.number());

const info = z.strictObject({
  sandbox: sandboxId,
  key: z.nullable(z.string()),
  labels: strings,
  /** The host's id of its init. */
  pid: z.int(),
  created: z.string(),
  detached: z.boolean(),
  base: z.string(),
  workdir: z.string(),
  processes: z.int(),
  phases,
});

const create = method({
  summary: "Makes a sandbox, or gives the one of the same key. It ends with the connection that " +
    "made it unless it is detached.",
  params: z.extend(specSchema, {
    key: field(
      "a name by which a repeated call gets the same sandbox",
      z.optional(z.string().check(z.minLength(1), z.maxLength(256))),
    ),
    labels: field("what sandbox.list can be asked for", z.optional(strings)),
    detached: field("whether it outlives this connection [false]", z.optional(z.boolean())),
    ttlMs: field("how long it may live", z.optional(milliseconds)),
    idleMs: field("how long nothing may be asked of it", z.optional(milliseconds)),
    startTimeoutMs: field("how long it may take to be made", z.optional(milliseconds)),
    progressToken: field(
      "send $/progress with this while layers are unpacked",
      z.optional(z.union([z.string(), z.int()])),
    ),
  }),
  result: z.strictObject({ sandbox: sandboxId, isNew: z.boolean(), phases }),
  example: {
    params: { layers: [{ archive: "/data/venv.tar.gz", path: "/opt/venv" }], workdir: "/testbed" },
    result: { sandbox: "sb-5f1c09aa-1", isNew: true, phases: { prepare: 0.05, create: 0.9 } },
  },
  run: async (params, { server, call }) => {
    const {
      key = null,
      labels = {},
      detached = false,
      ttlMs = null,
      idleMs = null,
      startTimeoutMs = null,
      progressToken,
      ...fields
    } = params;
    if ((fields.command ?? []).length > 0) {
      throw new UsageError("Cannot make a sandbox with a command: command must be absent", {
        remedy: "Start it afterwards by process.run.",
      });
    }
    const spec = settleSpec(server.node.store, toWish(fields));
    const progress = progressToken === undefined
      ? {}
      : { onLayer: (event: LayerEvent) => tell(event, progressToken, call.caller) };
    const { sandbox, isNew } = await server.create(spec, {
      key,
      labels,
      owner: detached ? null : call.caller,
      ttlMs: server.mostLife(ttlMs),
      idleMs: server.mostIdle(idleMs),
      startTimeoutMs,
      ...progress,
    }, call);
    return { sandbox: sandbox.id, isNew, phases: sandbox.parts.phases.toJSON() };
  },
});

const list = method({
  summary: "Lists the sandboxes that live, the oldest first.",
  params: z.strictObject({ labels: z.optional(strings) }),
  result: z.strictObject({ sandboxes: z.array(info) }),
  run: ({ labels = {} }, { server }) => ({
    sandboxes: server.list().filter((it) => hasLabels(it, labels)).map(toInfo),
  }),
});

const tellInfo = method({
  summary: "Tells of one sandbox.",
  params: z.strictObject({ sandbox: sandboxId }),
  result: info,
  run: ({ sandbox }, { server }) => toInfo(server.find(sandbox)),
});

const close = method({
  summary: "Ends a sandbox and everything in it; of one that has ended it says so.",
  params: z.strictObject({ sandbox: sandboxId }),
  result: z.strictObject({ closed: z.boolean() }),
  example: { params: { sandbox: "sb-5f1c09aa-1" }, result: { closed: true } },
  run: async ({ sandbox }, { server }) => ({ closed: await closeOne(server, sandbox) }),
});

/** Methods by their names. */
export const sandboxMethods = {
  "sandbox.create": create,
  "sandbox.list": list,
  "sandbox.info": tellInfo,
  "sandbox.close": close,
};

async function closeOne(server: Server, id: string): Promise<boolean> {
  const sandbox = server.peek(id);
  if (sandbox === null) return false;
  const wasOpen = sandbox.reason === null;
  await sandbox.close("closed");
  return wasOpen;
}

function toInfo(sandbox: LiveSandbox): z.infer<typeof info> {
  const { id, options, parts, created, processes } = sandbox;
  return {
    sandbox: id,
    key: options.key,
    labels: options.labels,
    pid: parts.sandbox.initPid,
    created: created.toISOString(),
    detached: options.owner === null,
    base: parts.spec.base,
    workdir: parts.spec.workdir,
    processes: [...processes.values()].filter(({ end }) => end === null).length,
    phases: parts.phases.toJSON(),
  };
}

function hasLabels({ options }: LiveSandbox, wanted: Readonly<Record<string, string>>): boolean {
  return Object.entries(wanted).every(([name, value]) => options.labels[name] === value);
}

/** A progress that cannot be told is none. */
function tell(
  { layer, phase, done, total }: LayerEvent,
  token: string | number,
  caller: Site["call"]["caller"],
): void {
  const value = { archive: layer.archive, path: layer.path, phase, done, total };
  caller.notify("$/progress", { token, value }).catch(() => {});
}
