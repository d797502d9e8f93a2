/** An environment's manifest as JSON: its schema, and its parsing. */
import * as z from "zod/mini";
import type { EnvironmentManifest } from "./environment.ts";
import { given, parseJson } from "./json.ts";
import { layerSchema } from "./spec_json.ts";

/** The schema of a manifest; every field may be left out. */
export const environmentSchema = z.strictObject({
  base: z.optional(z.string()),
  layers: z.optional(z.array(layerSchema)),
  env: z.optional(z.record(
    z.string().check(z.regex(/^[^=\0]+$/, "no such name can be set")),
    z.string().check(z.regex(/^[^\0]*$/, "it holds a NUL byte")),
  )),
  workdir: z.optional(
    z.nullable(z.string().check(z.regex(/^\/[^\0]*$/, "it is not absolute"))),
  ),
});

/**
 * Parses the text of a manifest.
 *
 * @param name Where the text comes from, for messages.
 * @throws {UsageError} If it is no JSON, or a field is unknown or wrong.
 */
export function parseEnvironment(text: string, name: string): EnvironmentManifest {
  const options = { what: `the environment "${name}"`, help: "environment" };
  return toManifest(parseJson(environmentSchema, text, options));
}

/** Completes what was said by what is not said. */
export function toManifest(
  { base = "host", layers = [], env = {}, workdir = null }: z.infer<typeof environmentSchema>,
): EnvironmentManifest {
  return {
    base,
    layers: layers.map(given) as EnvironmentManifest["layers"],
    env: env as Record<string, string>,
    workdir,
  };
}
