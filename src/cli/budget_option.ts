/** `--io-budget SIZE|auto|none`. */
import type { BudgetMode } from "../app/node.ts";
import { UsageError } from "../errors.ts";
import { parseSize } from "./size.ts";

export type { BudgetMode };

/**
 * Parses it; it is adaptive if it is not given.
 *
 * @throws {UsageError} If it is no size.
 */
export function parseBudget(text: string | undefined): BudgetMode {
  if (text === undefined || text === "auto") return { kind: "auto" };
  if (text === "none") return { kind: "none" };
  if (!/^\d/.test(text)) {
    throw new UsageError(`Cannot read --io-budget ${JSON.stringify(text)}: no such budget`, {
      remedy: "Give auto, none or a size such as 2G.",
    });
  }
  return { kind: "fixed", bytes: parseSize(text) };
}
