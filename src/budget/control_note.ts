/** The control as one process leaves it to the next. */
import type { Control } from "./controller.ts";

/** Parses what was left; null if that is no control. */
export function parseControl(note: unknown): Control | null {
  if (typeof note !== "object" || note === null) return null;
  const { budgetBytes, stage, triedFrom, throughput, rest, caution, calmMs } = note as Partial<
    Control
  >;
  const isCount = (value: unknown): value is number =>
    typeof value === "number" && Number.isFinite(value) && value >= 0;
  const isCountOrNull = (value: unknown): value is number | null =>
    value === null || isCount(value);
  if (
    !isCount(budgetBytes) || budgetBytes === 0 || !isCount(throughput) || !isCount(rest) ||
    !isCount(caution)
  ) {
    return null;
  }
  if (stage !== "search" && stage !== "hold") return null;
  if (!isCountOrNull(triedFrom) || !isCountOrNull(calmMs)) return null;
  return { budgetBytes, stage, triedFrom, throughput, rest, caution, calmMs };
}
