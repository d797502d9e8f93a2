/** Schemas that many methods share. */
import * as z from "zod/mini";
import type { OutputLimit } from "../../session/mod.ts";

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

/** Both ends of two streams, every byte escaped and again in base64, make a string that can be. */
const keptBytes = byteCount.check(z.maximum(16 * 2 ** 20));

/** How much of an output is kept. */
export const keep = z.strictObject({
  headBytes: z.optional(keptBytes),
  tailBytes: z.optional(keptBytes),
});

/** How much of an output is kept if nothing is said. */
const DEFAULT_KEEP: OutputLimit = { headBytes: 2 ** 20, tailBytes: 2 ** 20 };

/** Completes what was said by what is kept if nothing is said. */
export function toKeep(wish: z.infer<typeof keep> = {}): OutputLimit {
  const { headBytes = DEFAULT_KEEP.headBytes, tailBytes = DEFAULT_KEEP.tailBytes } = wish;
  return { headBytes, tailBytes };
}

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

/** How a command of a session ended. */
export const sessionOutcome = z.strictObject({
  kind: z.enum([
    "exited",
    "signaled",
    "timedOut",
    "noOutput",
    "outputLimit",
    "interrupted",
    "syntaxError",
  ]),
  code: z.nullable(z.int()),
  signal: z.nullable(z.string()),
  message: field("of a syntax error, in bash's words", z.nullable(z.string())),
});

/** Whether bytes are given twice. */
export const base64Wish = field(
  'whether to give bytes as base64 too, or "ifLossy" where text is not the bytes [false]',
  z.optional(z.union([z.boolean(), z.literal("ifLossy")])),
);

/** A name to its value. */
export const strings = z.record(z.string(), z.string());
