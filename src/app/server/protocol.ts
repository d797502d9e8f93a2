/** The protocol as data: every method with its schemas, every notification, every error. */
import * as z from "zod/mini";
import { RPC_ERRORS } from "../../rpc/mod.ts";
import { METHODS } from "./method/mod.ts";
import { PROTOCOL } from "./method/server.ts";
import { NOTIFICATIONS } from "./notification.ts";

/** Describes the protocol; schemas are JSON Schema (draft 2020-12). */
export function protocolDocument(): Record<string, unknown> {
  return {
    title: "minisandbox",
    protocol: PROTOCOL,
    methods: Object.fromEntries(
      Object.entries(METHODS).map(([name, { summary, params, result, example }]) => [name, {
        summary,
        params: z.toJSONSchema(params, { io: "input" }),
        result: z.toJSONSchema(result, { io: "input" }),
        ...(example === undefined ? {} : { example }),
      }]),
    ),
    notifications: Object.fromEntries(
      Object.entries(NOTIFICATIONS).map(([name, { summary, from, params }]) => [name, {
        summary,
        from,
        params: z.toJSONSchema(params, { io: "input" }),
      }]),
    ),
    errors: RPC_ERRORS,
  };
}
