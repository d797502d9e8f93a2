/** JSON that a person writes, checked against a schema, with messages that name the field. */
import * as z from "zod/mini";
import { messageOf, UsageError } from "../errors.ts";
import { describeIssue } from "./json_issue.ts";

/**
 * Parses the text of one value.
 *
 * @param options What it is, for messages, and the subcommand whose help lists the fields.
 * @throws {UsageError} If it is no JSON, or a field is unknown, missing or of the wrong kind.
 */
export function parseJson<T extends z.ZodMiniType>(
  schema: T,
  text: string,
  { what, help }: { readonly what: string; readonly help: string },
): z.infer<T> {
  let value: unknown;
  try {
    value = JSON.parse(text, refuseProto);
  } catch (error) {
    throw new UsageError(`Cannot read ${what}: ${messageOf(error)}`, {
      remedy: "It must be one JSON object.",
    });
  }
  const parsed = z.safeParse(schema, value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const path = issue!.path.length === 0 ? "" : `${issue!.path.map(String).join(".")}: `;
  throw new UsageError(`Cannot read ${what}: ${path}${describeIssue(issue!, value)}`, {
    remedy: `See its fields by: minisandbox ${help} --help.`,
  });
}

/** A field of this name would be lost without a word: objects are copied by assignment. */
function refuseProto(name: string, value: unknown): unknown {
  if (name !== "__proto__") return value;
  throw new Error('no field can be called "__proto__"');
}

/** Gives the fields that are there: none that is undefined. */
export function given<T extends object>(
  fields: T,
): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const known = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(known) as { [K in keyof T]?: Exclude<T[K], undefined> };
}
