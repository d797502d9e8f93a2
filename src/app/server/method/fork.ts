/** Methods that take what a sandbox has written at one moment. */
import * as z from "zod/mini";
import { keepTrees, upperTrees } from "../../keep.ts";
import { removeSnapshot, type SnapshotFile } from "../../snapshot.ts";
import { checkName, taken } from "../../../store/mod.ts";
import { method } from "../method.ts";
import { byteCount, milliseconds, sandboxId, strings } from "../schema.ts";

const phases = z.record(z.string(), z.number());

const snapshotInfo = {
  name: z.string(),
  entries: z.int(),
  bytes: byteCount,
  created: z.string(),
  base: z.nullable(z.string()),
};

const fork = method({
  summary: "Makes sandboxes of the same spec that begin with what another has written, as it is " +
    "now; its programs are stopped for that moment. With freeze false it is refused while any runs.",
  params: z.strictObject({
    sandbox: sandboxId,
    count: z.optional(z.int().check(z.positive(), z.maximum(1024))),
    freeze: z.optional(z.boolean()),
    labels: z.optional(strings),
    detached: z.optional(z.boolean()),
    ttlMs: z.optional(milliseconds),
    idleMs: z.optional(milliseconds),
    startTimeoutMs: z.optional(milliseconds),
  }),
  result: z.strictObject({
    sandboxes: z.array(z.strictObject({ sandbox: sandboxId, phases })),
  }),
  example: {
    params: { sandbox: "sb-5f1c09aa-1", count: 1 },
    result: { sandboxes: [{ sandbox: "sb-5f1c09aa-2", phases: { upper: 0.4, create: 0.9 } }] },
  },
  run: ({ sandbox: id, count = 1, freeze = true, detached = false, ...more }, { server, call }) => {
    const original = server.find(id);
    return original.use(async () => {
      const sandboxes = await server.fork(original, {
        count,
        stops: freeze,
        key: null,
        labels: more.labels ?? {},
        owner: detached ? null : call.caller,
        ttlMs: server.mostLife(more.ttlMs),
        idleMs: server.mostIdle(more.idleMs),
        startTimeoutMs: more.startTimeoutMs ?? null,
      }, call);
      return {
        sandboxes: sandboxes.map(({ id, parts }) => ({
          sandbox: id,
          phases: parts.phases.toJSON(),
        })),
      };
    });
  },
});

const snapshot = method({
  summary:
    "Keeps what a sandbox has written, as it is now, under a name that sandbox.create takes " +
    "in from; its programs are stopped for a moment. With freeze false it is refused while any runs.",
  params: z.strictObject({
    sandbox: sandboxId,
    name: z.optional(z.string()),
    freeze: z.optional(z.boolean()),
  }),
  result: z.strictObject(snapshotInfo),
  example: {
    params: { sandbox: "sb-5f1c09aa-1", name: "configured" },
    result: {
      name: "configured",
      entries: 3,
      bytes: 120,
      created: "2026-01-02T03:04:05.678Z",
      base: null,
    },
  },
  run: ({ sandbox: id, name: wanted, freeze = true }, { server, call }) => {
    const sandbox = server.find(id);
    const { node } = server;
    const name = wanted ?? server.nextId("snapshot");
    checkName("snapshot", name);
    if (node.store.names.has("snapshot", name)) throw taken("snapshot", name);
    return sandbox.use(async (gone) => {
      await using top = await server.freeze(sandbox, freeze);
      const { place, frozen, spec } = sandbox.parts;
      const below = frozen.filter(({ isWritten }) => isWritten.includes(true));
      const layers = [...below, top].map(({ dir }) => upperTrees(place.layout.parts, dir));
      const file = await keepTrees(node, spec, layers, {
        name,
        onNote: () => {},
        signal: AbortSignal.any([gone, call.signal]),
      });
      return toInfo([name, file]);
    });
  },
});

const list = method({
  summary: "Lists the snapshots of the store.",
  params: z.strictObject({}),
  result: z.strictObject({ snapshots: z.array(z.strictObject(snapshotInfo)) }),
  run: (_, { server }) => ({
    snapshots: server.node.store.names.list<SnapshotFile>("snapshot").map(toInfo),
  }),
});

const remove = method({
  summary: "Takes a snapshot's name away; its layers go when nothing needs them.",
  params: z.strictObject({ name: z.string() }),
  result: z.strictObject({}),
  run: async ({ name }, { server }) => {
    await removeSnapshot(server.node.store, name);
    return {};
  },
});

/** Methods by their names. */
export const forkMethods = {
  "sandbox.fork": fork,
  "sandbox.snapshot": snapshot,
  "snapshot.list": list,
  "snapshot.remove": remove,
};

function toInfo(
  [name, { entries, bytes, created, needsBase }]: readonly [string, SnapshotFile],
): z.infer<z.ZodMiniObject<typeof snapshotInfo>> {
  return { name, entries, bytes, created, base: needsBase };
}
