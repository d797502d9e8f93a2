/** `--env K[=V]`. */
import { UsageError } from "../errors.ts";

/**
 * Gives variables by their names; one without a value gets ours, if we have it.
 *
 * @throws {UsageError} If one has no name.
 */
export function toVariables(texts: readonly string[]): Record<string, string> {
  return Object.fromEntries(texts.flatMap(parseVariable));
}

/** `K=V`, or `K` for the value that we have; none where we have none, as Docker does it. */
function parseVariable(text: string): [string, string][] {
  const cut = text.indexOf("=");
  if (cut === 0 || text === "") {
    throw new UsageError(`Cannot read --env ${JSON.stringify(text)}: it has no name`, {
      remedy: "Give it as NAME=VALUE.",
    });
  }
  if (cut > 0) return [[text.slice(0, cut), text.slice(cut + 1)]];
  const value = Deno.env.get(text);
  return value === undefined ? [] : [[text, value]];
}
