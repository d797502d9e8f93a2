/** A spec as JSON: its schema, and its parsing with messages that name the field. */
import * as z from "zod/mini";
import { messageOf, UsageError } from "../errors.ts";
import { CAPABILITIES } from "../sandbox/mod.ts";
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

/** The schema of a spec; every field may be left out. */
export const specSchema = z.strictObject({
  base: z.optional(z.string()),
  layers: z.optional(z.array(z.strictObject({ archive: z.string(), path: z.string() }))),
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
export function parseSpec(text: string, name: string): SandboxSpec {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new UsageError(`Cannot read the spec "${name}": ${messageOf(error)}`, {
      remedy: "It must be one JSON object.",
    });
  }
  const parsed = z.safeParse(specSchema, value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const path = issue!.path.length === 0 ? "" : `${issue!.path.map(String).join(".")}: `;
    throw new UsageError(`Cannot read the spec "${name}": ${path}${issue!.message}`, {
      remedy: "See its fields by: minisandbox run --help.",
    });
  }
  const { binds = [], upper: where, limits: most = {}, hardening: more = {}, ...rest } =
    parsed.data;
  return {
    ...DEFAULT_SPEC,
    ...given(rest),
    binds: binds.map((bind) => ({ ...bind, writable: bind.writable ?? false })),
    upper: toUpper(where),
    limits: { ...DEFAULT_SPEC.limits, ...given(most) },
    hardening: { ...DEFAULT_SPEC.hardening, ...given(more) },
  };
}

function given<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const known = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(known) as { [K in keyof T]?: Exclude<T[K], undefined> };
}

function toUpper(where: z.infer<typeof upper> | undefined): SandboxSpec["upper"] {
  if (where === undefined) return DEFAULT_SPEC.upper;
  if (where.kind === "disk") return { kind: "disk", dir: where.dir ?? null };
  return { kind: "tmpfs", sizeBytes: where.sizeBytes ?? null };
}
