/** Rows as text in columns. */

/** Lines up rows beneath their heads; nothing where there is no row. */
export function toTable(heads: readonly string[], rows: readonly (readonly string[])[]): string[] {
  if (rows.length === 0) return [];
  const all = [heads, ...rows];
  const widths = heads.map((_, i) => Math.max(...all.map((row) => row[i]!.length)));
  return all.map((row) => row.map((cell, i) => cell.padEnd(widths[i]!)).join("  ").trimEnd());
}

/** Lines up names and values. */
export function toFacts(facts: readonly (readonly [name: string, value: string])[]): string[] {
  const width = Math.max(...facts.map(([name]) => name.length));
  return facts.map(([name, value]) => `${name.padEnd(width)}  ${value}`.trimEnd());
}
