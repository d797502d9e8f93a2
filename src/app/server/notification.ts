/** The notifications of the protocol. */
import * as z from "zod/mini";
import { byteCount } from "./schema.ts";

interface Notification {
  readonly summary: string;
  readonly from: "server" | "client";
  readonly params: z.ZodMiniType;
}

/** Every notification. */
export const NOTIFICATIONS: Readonly<Record<string, Notification>> = {
  "process.output": {
    summary:
      "What a process that was started with stream has printed; offset counts the bytes of " +
      "its stream that came before.",
    from: "server",
    params: z.strictObject({
      process: z.string(),
      stream: z.enum(["stdout", "stderr"]),
      offset: byteCount,
      text: z.string(),
      lossy: z.boolean(),
      base64: z.optional(z.string()),
    }),
  },
  "session.output": {
    summary:
      "What a command of session.run with stream has printed; offset counts the bytes of the " +
      "command that came before. A reader that is slow misses some: see offset.",
    from: "server",
    params: z.strictObject({
      sandbox: z.string(),
      session: z.string(),
      token: z.union([z.string(), z.int()]),
      offset: byteCount,
      text: z.string(),
      lossy: z.boolean(),
      base64: z.optional(z.string()),
    }),
  },
  "$/progress": {
    summary: "How far a call is that was given a progressToken: here, the unpacking of a layer.",
    from: "server",
    params: z.strictObject({
      token: z.union([z.string(), z.int()]),
      value: z.strictObject({
        archive: z.optional(z.string()),
        path: z.string(),
        phase: z.string(),
        done: byteCount,
        total: z.int(),
      }),
    }),
  },
  "$/cancelRequest": {
    summary: "Ends a call under way, which is answered with the error cancelled.",
    from: "client",
    params: z.strictObject({ id: z.union([z.string(), z.number()]) }),
  },
};
