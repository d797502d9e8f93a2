/** Methods on the server itself. */
import * as z from "zod/mini";
import { UsageError } from "../../../errors.ts";
import { DEFAULT_LIMITS } from "../../../rpc/mod.ts";
import { VERSION } from "../../../version.ts";
import { method } from "../method.ts";

/** The version of the protocol; another is spoken by no server of today. */
export const PROTOCOL = 1;

const counts = z.record(z.string(), z.number());

const initialize = method({
  summary: "Agrees on the version of the protocol, and tells what the server can do. Calls may " +
    "also be made without it.",
  params: z.strictObject({
    protocol: z.optional(z.int()),
    client: z.optional(z.strictObject({ name: z.string(), version: z.optional(z.string()) })),
  }),
  result: z.strictObject({
    protocol: z.int(),
    server: z.strictObject({ name: z.string(), version: z.string(), pid: z.int() }),
    identity: z.enum(["root", "subordinate", "single", "none"]),
    limits: z.strictObject({
      maxSandboxes: z.int(),
      maxMessageBytes: z.int(),
      ttlMs: z.nullable(z.number()),
      idleMs: z.nullable(z.number()),
    }),
  }),
  example: {
    params: { protocol: 1, client: { name: "trainer" } },
    result: {
      protocol: 1,
      server: { name: "minisandbox", version: "0.1.0", pid: 4242 },
      identity: "subordinate",
      limits: { maxSandboxes: 1024, maxMessageBytes: 67108864, ttlMs: null, idleMs: null },
    },
  },
  run: ({ protocol = PROTOCOL }, { server }) => {
    if (protocol !== PROTOCOL) {
      throw new UsageError(`Cannot speak protocol ${protocol}: this server speaks ${PROTOCOL}`);
    }
    const { maxSandboxes, ttlMs, idleMs } = server.options;
    return {
      protocol: PROTOCOL,
      server: { name: "minisandbox", version: VERSION, pid: Deno.pid },
      identity: server.node.host.identity.kind,
      limits: { maxSandboxes, maxMessageBytes: DEFAULT_LIMITS.maxMessageBytes, ttlMs, idleMs },
    };
  },
});

const histogram = z.strictObject({
  count: z.int(),
  sumMs: z.number(),
  maxMs: z.number(),
  atMost: z.readonly(z.array(z.int())),
  boundsMs: z.readonly(z.array(z.number())),
});

const metrics = method({
  summary: "Tells what the server has done and what it holds; times in milliseconds.",
  params: z.strictObject({}),
  result: z.strictObject({
    uptimeMs: z.number(),
    sandboxes: z.strictObject({
      live: z.int(),
      starting: z.int(),
      queued: z.int(),
      ready: z.int(),
      readyWanted: z.int(),
      max: z.int(),
      started: z.int(),
      failed: counts,
      ended: counts,
    }),
    commands: counts,
    startMs: z.record(z.string(), histogram),
    budget: z.strictObject({
      mode: z.enum(["auto", "fixed", "none"]),
      budgetBytes: z.nullable(z.number()),
      reservedBytes: z.number(),
      waiting: z.int(),
      running: z.int(),
      throughput: z.number(),
      pressure: z.nullable(z.number()),
    }),
    process: z.strictObject({
      residentBytes: z.number(),
      openFiles: z.int(),
      threads: z.int(),
    }),
    pressure: z.record(z.enum(["cpu", "io", "memory"]), z.nullable(z.number())),
  }),
  run: (_, { server }) => server.metrics.state(),
});

const shutdown = method({
  summary: "Ends every sandbox, then the server.",
  params: z.strictObject({}),
  result: z.strictObject({}),
  run: async (_, { server }) => {
    await server.shutDown();
    return {};
  },
});

/** Methods by their names. */
export const serverMethods = { initialize, metrics, shutdown };
