/** What was measured, as tables that a terminal and a README take. */
import { type BenchReport, type Measure, OURS } from "../../app/bench/measure.ts";
import { toRatioText, toText } from "./number.ts";

/** Shows one measure. */
export function measureTable(measure: Measure): string {
  const { unit, rows } = measure;
  const heads = [titleOf(measure), "median", "min", "max", "n", "ours to it (95 %)", "phases, ms"];
  const cells = rows.map(({ peer, spread, samples, ratio, phases }) => [
    peer,
    ...[spread.median, spread.min, spread.max].map((value) => toText(value, unit)),
    String(samples.length),
    toRatioText(ratio),
    Object.entries(phases).map(([name, ms]) => `${name} ${ms.toFixed(1)}`).join(", "),
  ]);
  const used = heads.map((_, i) => i < 5 || cells.some((row) => row[i] !== ""));
  const table = [heads, ...cells].map((row) => row.filter((_, i) => used[i]));
  const widths = table[0]!.map((_, i) => Math.max(...table.map((row) => row[i]!.length)));
  const isNumber = (column: number) => column > 0 && column < 5;
  const lines = table.map((row) => {
    const padded = row.map((cell, i) =>
      isNumber(i) ? cell.padStart(widths[i]!) : cell.padEnd(widths[i]!)
    );
    return `| ${padded.join(" | ")} |`;
  });
  const rule = widths.map((width, i) => "-".repeat(width + 1) + (isNumber(i) ? ":" : "-"));
  return [lines[0]!, `|${rule.join("|")}|`, ...lines.slice(1)].join("\n");
}

/** Names a measure, such as `prepare 64: all of them`. */
export function titleOf({ case: name, count, cache, name: part }: Measure): string {
  const isCrowd = count > 1 || part === "all of them";
  return `${name}${isCrowd ? ` ${count}` : ""}${cache === "cold" ? ", cold" : ""}: ${part}`;
}

/** Shows what the numbers depend on. */
export function reportFoot({ version, machine, warnings, peers, skipped }: BenchReport): string {
  const facts = Object.entries(machine).map(([name, value]) => `${name} ${value}`).join(", ");
  const known = peers.map(({ name, what, version }) => `${name} (${version ?? "–"}): ${what}`);
  return [
    `minisandbox ${version}: ${facts}`,
    ...known,
    ...skipped.map(({ peer, reason }) => `skipped: ${peer}: ${reason}`),
    ...warnings.map((warning) => `warning: ${warning}`),
    `A ratio is ${OURS}'s to the row's: below 1 it is better. It stands with its 95 % interval.`,
  ].join("\n");
}
