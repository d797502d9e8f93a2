/** Options on what is taken from archives. */
import type { ArchivePolicy } from "../app/layer.ts";
import { UsageError } from "../errors.ts";
import type { OptionValues } from "./option.ts";
import { parseSize } from "./size.ts";

/** What subcommands that unpack take. */
export const ARCHIVE_OPTIONS = {
  "max-bytes": { kind: "value" },
  "max-entries": { kind: "value" },
  "max-depth": { kind: "value" },
  setuid: { kind: "value" },
} as const;

/** Their lines in a help text. */
export const ARCHIVE_HELP = `      --max-bytes SIZE, --max-entries N, --max-depth N
                     refuse an archive that unpacks to more [64G, 2000000, 256 directories deep]
      --setuid keep|drop
                     setuid and setgid bits; dropped, it is another layer [keep]`;

/**
 * Parses them.
 *
 * @throws {UsageError} If one cannot be read.
 */
export function parseArchivePolicy(options: OptionValues<typeof ARCHIVE_OPTIONS>): ArchivePolicy {
  const { "max-bytes": bytes, "max-entries": entries, "max-depth": depth, setuid = "keep" } =
    options;
  if (setuid !== "keep" && setuid !== "drop") {
    throw refuse("setuid", setuid, "no such policy", "Give keep or drop.");
  }
  return {
    setuid,
    limits: {
      ...(bytes === undefined ? {} : { maxBytes: parseSize(bytes) }),
      ...(entries === undefined ? {} : { maxEntries: parseCount("max-entries", entries) }),
      ...(depth === undefined ? {} : { maxDepth: parseCount("max-depth", depth) }),
    },
  };
}

function parseCount(name: string, text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw refuse(name, text, "no whole number", "Give 1 or more.");
}

function refuse(name: string, text: string, state: string, remedy: string): UsageError {
  return new UsageError(`Cannot read --${name} ${JSON.stringify(text)}: ${state}`, { remedy });
}
