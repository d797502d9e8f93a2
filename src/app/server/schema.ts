/** Schemas that many methods share. */
import * as z from "zod/mini";

/** The id of a sandbox. */
export const sandboxId = z.string();

/** Milliseconds; null for no limit. */
export const milliseconds = z.nullable(z.number().check(z.positive(), z.maximum(2 ** 31 - 1)));

/** A number of bytes. */
export const byteCount = z.int().check(z.nonnegative());

/** Bytes that a caller sends: text, or base64. */
export const bytesWish = z.union([z.string(), z.strictObject({ base64: z.string() })]);

/** Bytes that a caller gets. */
export const text = z.strictObject({
  text: z.string(),
  lossy: z.boolean(),
  base64: z.optional(z.string()),
});

/** What a program printed. */
export const collected = z.strictObject({
  text: z.string(),
  lossy: z.boolean(),
  base64: z.optional(z.string()),
  totalBytes: byteCount,
  omittedBytes: byteCount,
  tail: z.optional(text),
});

/** How much of an output is kept. */
export const keep = z.strictObject({
  headBytes: z.optional(byteCount.check(z.maximum(64 * 2 ** 20))),
  tailBytes: z.optional(byteCount.check(z.maximum(64 * 2 ** 20))),
});

/** How much of an output is kept if nothing is said. */
export const DEFAULT_KEEP = { headBytes: 2 ** 20, tailBytes: 2 ** 20 } as const;

/** A terminal's size. */
export const terminal = z.strictObject({
  rows: z.int().check(z.positive(), z.maximum(65535)),
  columns: z.int().check(z.positive(), z.maximum(65535)),
});

/** How a command ended. */
export const outcome = z.strictObject({
  kind: z.enum([
    "exited",
    "signaled",
    "timedOut",
    "noOutput",
    "cancelled",
    "outOfMemory",
    "outputLimit",
    "cpuTimeLimit",
    "fileSizeLimit",
  ]),
  code: z.nullable(z.int()),
  signal: z.nullable(z.string()),
  reached: z.readonly(z.array(z.string())),
});

/** A name to its value. */
export const strings = z.record(z.string(), z.string());
