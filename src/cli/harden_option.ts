/** The options that harden or loosen a sandbox. */
import { CAPABILITIES, type Capability, type Hardening } from "../app/spec.ts";
import { UsageError } from "../errors.ts";
import type { OptionValues } from "./option.ts";

/** What `run` takes. */
export const HARDEN_OPTIONS = {
  "cap-drop": { kind: "list" },
  "cap-add": { kind: "list" },
  "allow-setuid": { kind: "flag" },
  "allow-nesting": { kind: "flag" },
} as const;

/**
 * Gives the hardening with what options say: what is dropped goes first, what is added comes back.
 *
 * @throws {UsageError} If a capability is not one of those that can be kept.
 */
export function applyHardening(
  hardening: Hardening,
  options: OptionValues<typeof HARDEN_OPTIONS>,
): Hardening {
  const dropped = new Set(options["cap-drop"].flatMap(parseCapabilities));
  const added = new Set(options["cap-add"].flatMap(parseCapabilities));
  const kept = hardening.capabilities.filter((name) => !dropped.has(name));
  return {
    capabilities: CAPABILITIES.filter((name) => kept.includes(name) || added.has(name)),
    allowsSetuid: hardening.allowsSetuid || options["allow-setuid"],
    allowsNesting: hardening.allowsNesting || options["allow-nesting"],
  };
}

/** `chown`, `CHOWN`, `CAP_CHOWN`, or `all`. */
function parseCapabilities(text: string): readonly Capability[] {
  const name = text.toUpperCase();
  if (name === "ALL") return CAPABILITIES;
  const found = CAPABILITIES.find((it) => it === name || it === `CAP_${name}`);
  if (found !== undefined) return [found];
  const known = CAPABILITIES.map((it) => it.slice("CAP_".length)).join(" ");
  throw new UsageError(
    `Cannot read the capability ${JSON.stringify(text)}: none that can be kept`,
    {
      remedy: `Give all, or one of ${known}.`,
    },
  );
}
