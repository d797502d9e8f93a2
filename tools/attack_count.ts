/** How many attacks SECURITY.md says are run, held against how many were. */
import { ROOT } from "./checkout.ts";

const PAGE = `${ROOT}/SECURITY.md`;
const BEGIN = "<!-- counts: begin -->\n";
const END = "<!-- counts: end -->\n";

/** How many attacks were run and had failed, by who ran them. */
export type AttackCounts = ReadonlyMap<string, number>;

/** Reads the table of a page. */
export function parseCounts(page: string): AttackCounts {
  const rows = section(page).matchAll(/^\| ([^|]+?) +\| +(\d+) +\|$/gm);
  return new Map([...rows].map(([, name, count]) => [name!, Number(count)]));
}

/** Writes the table into a page, in place of the one that is there. */
export function writeCounts(page: string, counts: AttackCounts): string {
  const rows = [...counts].map(([name, count]) => `| ${name} | ${count} |\n`).join("");
  const table = `\n| run by | attacks, at least |\n| --- | --- |\n${rows}\n`;
  return page.replace(BEGIN + section(page) + END, () => BEGIN + table + END);
}

/**
 * Says who ran fewer attacks than the page says, each in a line. With `UPDATE_GOLDEN=1` the page is
 * made to say what was found instead.
 */
export function checkCounts(found: AttackCounts): string[] {
  const page = Deno.readTextFileSync(PAGE);
  const stated = parseCounts(page);
  if (Deno.env.get("UPDATE_GOLDEN") === "1") {
    Deno.writeTextFileSync(PAGE, writeCounts(page, new Map([...stated, ...found])));
    return [];
  }
  return [...found].filter(([name, count]) => count < (stated.get(name) ?? 1)).map(
    ([name, count]) =>
      `SECURITY.md says ${stated.get(name)} attacks by ${name}, but ${count} failed`,
  );
}

function section(page: string): string {
  return page.split(BEGIN)[1]?.split(END)[0] ?? "";
}
