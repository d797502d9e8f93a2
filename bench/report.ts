/** What a run of the bench came to, as data and as tables. */
import type { Spread } from "../src/app/bench/spread.ts";

/** One row of a table. */
export interface Row extends Spread {
  readonly name: string;
  readonly what: string;
}

/** One table. */
export interface Case {
  readonly name: string;
  readonly rows: readonly Row[];
  /** The row that the others are compared with: their ratio is how much longer they take. */
  readonly baseline: string | null;
}

/** All of it. */
export interface Report {
  readonly machine: Readonly<Record<string, string | number>>;
  readonly cases: readonly Case[];
  readonly skipped: readonly { readonly name: string; readonly reason: string }[];
}

/** Shows tables in the form that a README takes. */
export function formatReport({ machine, cases, skipped }: Report): string {
  const facts = Object.entries(machine).map(([name, value]) => `${name} ${value}`).join(", ");
  return [
    facts,
    ...cases.map(formatCase),
    ...skipped.map(({ name, reason }) => `skipped: ${name}: ${reason}`),
  ].join("\n\n");
}

function formatCase({ name, rows, baseline }: Case): string {
  const base = rows.find((row) => row.name === baseline);
  const ms = (time: number) => time.toFixed(2);
  const table = base === undefined
    ? [
      [name, "median", "p95", "min", "max"],
      ...rows.map((row) => [row.name, ...[row.median, row.p95, row.min, row.max].map(ms)]),
    ]
    : [
      [name, "median", "min", "max", `to ${base.name}`, "what it does"],
      ...rows.map((row) => [
        row.name,
        ...[row.median, row.min, row.max].map(ms),
        `${ms(row.median / base.median)}x`,
        row.what,
      ]),
    ];
  const widths = table[0]!.map((_, i) => Math.max(...table.map((row) => row[i]!.length)));
  const isNumber = (column: number) => column > 0 && column < 5;
  const lines = table.map((row) => {
    const cells = row.map((cell, i) =>
      isNumber(i) ? cell.padStart(widths[i]!) : cell.padEnd(widths[i]!)
    );
    return `| ${cells.join(" | ")} |`;
  });
  const rule = widths.map((width, i) => "-".repeat(width + 1) + (isNumber(i) ? ":" : "-"));
  return [lines[0]!, `|${rule.join("|")}|`, ...lines.slice(1)].join("\n");
}
