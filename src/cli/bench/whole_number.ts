/** Whole numbers of the command line. */
import { UsageError } from "../../errors.ts";

/** Parses one. @throws {UsageError} If it is none, or less than 1. */
export function parseNumber(name: string, text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1) return count;
  throw new UsageError(`Cannot read --${name} ${JSON.stringify(text)}: no whole number`, {
    remedy: "Give 1 or more.",
  });
}
