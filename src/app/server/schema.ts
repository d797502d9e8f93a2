/** Schemas that many methods share. */
import * as z from "zod/mini";

/** Says what a field means, for the reference. */
export function field<T extends z.ZodMiniType>(meaning: string, schema: T): T {
  z.globalRegistry.add(schema, { description: meaning });
  return schema;
}

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
  text: field("the bytes as UTF-8; each that is none is U+FFFD", z.string()),
  lossy: field("whether a byte was no UTF-8: then text is not the bytes", z.boolean()),
  base64: z.optional(field("the bytes, where asked for", z.string())),
});

/** What a program printed. */
export const collected = z.extend(text, {
  totalBytes: field("how many bytes there were", z.int().check(z.nonnegative())),
  omittedBytes: field("how many lie between text and tail", z.int().check(z.nonnegative())),
  tail: z.optional(field("the last bytes, where some were omitted", z.extend(text, {}))),
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
