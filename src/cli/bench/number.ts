/** Numbers of the bench as text. */
import { format as formatBytes } from "@std/fmt/bytes";
import type { Ratio } from "../../app/bench/ratio.ts";
import type { Unit } from "../../app/bench/measure.ts";

/** Shows a value with three digits or so, and its unit. */
export function toText(value: number, unit: Unit): string {
  if (unit === "bytes") return formatBytes(Math.round(value));
  if (unit === "ms" && value >= 1000) return `${toDigits(value / 1000)} s`;
  return unit === "number" ? toDigits(value) : `${toDigits(value)} ${unit}`;
}

/** Shows a ratio with its interval. */
export function toRatioText(ratio: Ratio | null): string {
  if (ratio === null) return "";
  const { value, low, high } = ratio;
  if (!Number.isFinite(value)) return "–";
  return `${toDigits(value)}x (${toDigits(low)} to ${toDigits(high)})`;
}

function toDigits(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const digits = value === 0 ? 0 : Math.floor(Math.log10(Math.abs(value)));
  return value.toFixed(Math.min(3, Math.max(0, 2 - digits)));
}
