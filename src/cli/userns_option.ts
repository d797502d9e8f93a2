/** `--userns on|off`. */
import { UsageError } from "../errors.ts";

export function parseUserns(text: string | undefined): boolean {
  if (text === undefined || text === "on" || text === "off") return text !== "off";
  throw new UsageError(`Cannot read --userns ${JSON.stringify(text)}: neither on nor off`, {
    remedy: "Give on, or as root off.",
  });
}
