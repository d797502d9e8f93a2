/** Sizes on the command line. */
import { UsageError } from "../errors.ts";

/**
 * Parses a number of bytes, such as 512M or 2G.
 *
 * @throws {UsageError} If it is none, or less than a page.
 */
export function parseSize(text: string): number {
  const match = /^(\d+(?:\.\d+)?)([KMGT]?)(i?B)?$/i.exec(text);
  const bytes = match === null
    ? 0
    : Math.floor(Number(match[1]) * 1024 ** " KMGT".indexOf(match[2]!.toUpperCase() || " "));
  if (bytes >= 4096 && Number.isSafeInteger(bytes)) return bytes;
  throw new UsageError(`Cannot read the size ${JSON.stringify(text)}: no size of 4K or more`, {
    remedy: "Give it as 512M or 2G.",
  });
}
