/** Spans of time on the command line. */
import { UsageError } from "../errors.ts";

const UNITS_MS: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
};

/**
 * Parses a span such as 30d or 12h, to milliseconds.
 *
 * @throws {UsageError} If it is none.
 */
export function parseDuration(option: string, text: string): number {
  const match = /^(\d+(?:\.\d+)?)([smhdw])$/.exec(text);
  if (match !== null) return Number(match[1]) * UNITS_MS[match[2]!]!;
  throw new UsageError(`Cannot read --${option} ${JSON.stringify(text)}: no span of time`, {
    remedy: "Give it as 30d, 12h, 10m or 45s.",
  });
}
