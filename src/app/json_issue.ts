/** What is wrong with a value of JSON, in words: zod's own need a locale, which costs each start. */
import type * as z from "zod/mini";

type Issue = z.core.$ZodIssue;

/** Says what the value must be, or that it is missing or unknown. */
export function describeIssue(issue: Issue, root: unknown): string {
  if (issue.code === "unrecognized_keys") return `no field is called "${issue.keys[0]}"`;
  if (issue.code === "custom" || issue.code === "invalid_format") return issue.message;
  if (issue.path.length > 0 && valueAt(root, issue.path) === undefined) return "it is missing";
  return `it must be ${wanted(issue).join(" or ")}`;
}

function wanted(issue: Issue): string[] {
  switch (issue.code) {
    case "invalid_type":
      return [NAMES[issue.expected] ?? issue.expected];
    case "invalid_value":
      return issue.values.map(String);
    case "invalid_union": {
      const inner = issue.errors.flatMap((errors) => errors.flatMap(wanted));
      return "options" in issue ? (issue.options as unknown[]).map(String) : inner;
    }
    case "too_small":
      return [`${issue.inclusive === false ? "more than" : "at least"} ${issue.minimum}`];
    case "too_big":
      return [`${issue.inclusive === false ? "less than" : "at most"} ${issue.maximum}`];
    default:
      return ["another value"];
  }
}

const NAMES: Readonly<Record<string, string>> = {
  array: "an array",
  boolean: "true or false",
  int: "a whole number",
  number: "a number",
  object: "an object",
  record: "an object",
  string: "a string",
};

function valueAt(root: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) => (value as Readonly<Record<PropertyKey, unknown>> | undefined)?.[key],
    root,
  );
}
