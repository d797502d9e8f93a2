/** A spec as JSON: its schema, and its parsing with messages that name the field. */
import * as z from "zod/mini";
import { given, parseJson } from "./json.ts";
import { CAPABILITIES } from "../sandbox/mod.ts";
import { DEFAULT_WISH, type SpecWish } from "./settle.ts";
import { DEFAULT_SPEC, type SandboxSpec } from "./spec.ts";

const upper = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("disk"), dir: z.optional(z.nullable(z.string())) }),
  z.strictObject({
    kind: z.literal("tmpfs"),
    sizeBytes: z.optional(z.nullable(z.int().check(z.positive()))),
  }),
]);

const limit = z.optional(z.nullable(z.number()));

const limits = z.strictObject({
  memoryBytes: limit,
  swapBytes: limit,
  cpus: limit,
  cpuWeight: limit,
  pids: limit,
  openFiles: limit,
  fileBytes: limit,
  cpuTimeMs: limit,
  tmpBytes: limit,
  shmBytes: limit,
  diskBytes: limit,
  inodes: limit,
  outputBytes: limit,
});

const hardening = z.strictObject({
  capabilities: z.optional(z.array(z.enum(CAPABILITIES))),
  allowsSetuid: z.optional(z.boolean()),
  allowsNesting: z.optional(z.boolean()),
});

/** The schema of a layer: an archive by its path, its SHA-256, or both. */
export const layerSchema = z.strictObject({
  archive: z.optional(z.string()),
  sha256: z.optional(z.string().check(z.regex(/^[0-9a-f]{64}$/, "no SHA-256 in hexadecimal"))),
  path: z.string(),
}).check(z.refine(
  ({ archive, sha256 }) => archive !== undefined || sha256 !== undefined,
  "archive or sha256 must be given",
));

/** The schema of a spec; every field may be left out. */
export const specSchema = z.strictObject({
  environment: z.optional(z.string()),
  base: z.optional(z.string()),
  layers: z.optional(z.array(layerSchema)),
  from: z.optional(z.array(z.string())),
  binds: z.optional(z.array(z.strictObject({
    source: z.string(),
    target: z.string(),
    writable: z.optional(z.boolean()),
  }))),
  env: z.optional(z.record(z.string(), z.string())),
  workdir: z.optional(z.string()),
  network: z.optional(z.enum(["none", "blackhole", "host"])),
  user: z.optional(z.union([z.string(), z.int()])),
  hostname: z.optional(z.string()),
  timeoutMs: z.optional(z.nullable(z.number())),
  upper: z.optional(upper),
  limits: z.optional(limits),
  hardening: z.optional(hardening),
  command: z.optional(z.array(z.string())),
});

/**
 * Parses the text of a spec.
 *
 * @param name Where the text comes from, for messages.
 * @throws {UsageError} If it is no JSON, or a field is unknown or of the wrong kind.
 */
export function parseSpec(text: string, name: string): SpecWish {
  return toWish(parseJson(specSchema, text, { what: `the spec "${name}"`, help: "run" }));
}

/** Completes what was said by what is not said. */
export function toWish(fields: z.infer<typeof specSchema>): SpecWish {
  const { layers = [], binds = [], upper: where, limits: most, hardening: more, ...rest } = fields;
  return {
    ...DEFAULT_WISH,
    ...given(rest),
    layers: layers.map(given) as SpecWish["layers"],
    binds: binds.map((bind) => ({ ...bind, writable: bind.writable ?? false })),
    upper: toUpper(where),
    limits: { ...DEFAULT_SPEC.limits, ...given(most ?? {}) },
    hardening: { ...DEFAULT_SPEC.hardening, ...given(more ?? {}) },
  };
}

function toUpper(where: z.infer<typeof upper> | undefined): SandboxSpec["upper"] {
  if (where === undefined) return DEFAULT_SPEC.upper;
  if (where.kind === "disk") return { kind: "disk", dir: where.dir ?? null };
  return { kind: "tmpfs", sizeBytes: where.sizeBytes ?? null };
}
