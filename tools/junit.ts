/** Reads the JUnit report that `deno test` writes: how many tests ended how, and what failed. */

/** How many tests ended how. */
export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** How much of what a failure says is told again at the end. */
const FAILURE_LINES = 12;

const ENTITIES: Readonly<Record<string, string>> = {
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  amp: "&",
};

/** The counts of no test. */
export const NO_TESTS: Counts = { passed: 0, failed: 0, skipped: 0 };

/**
 * Counts the tests of one report; a step counts as a test.
 *
 * @param xml The report, empty when the run did not come to write one.
 */
export function countJunit(xml: string): Counts {
  // Names and messages are escaped, so each `<` in the text is a tag.
  const total = countTags(xml, "testcase");
  const failed = countTags(xml, "failure") + countTags(xml, "error");
  const skipped = countTags(xml, "skipped");
  return { passed: total - failed - skipped, failed, skipped };
}

/**
 * Tells of each failure in a report where it is, its name and the first lines of what it says.
 *
 * @param xml The report, empty when the run did not come to write one.
 */
export function listFailures(xml: string): string[] {
  const failed =
    /<testcase name="([^"]*)" classname="([^"]*)"[^>]*line="(\d+)"[^>]*>\s*<(?:failure|error)[^>]*>([^<]*)/g;
  return [...xml.matchAll(failed)].map(([, name, file, line, text]) => {
    const said = unescape(text!).split("\n").filter((it) => it.trim() !== "").slice(
      0,
      FAILURE_LINES,
    );
    return [`${file}:${line}: ${unescape(name!)}`, ...said.map((it) => `    ${it}`)].join("\n");
  });
}

/** Adds two counts. */
export function addCounts(a: Counts, b: Counts): Counts {
  return {
    passed: a.passed + b.passed,
    failed: a.failed + b.failed,
    skipped: a.skipped + b.skipped,
  };
}

/** Writes counts as the closing line, for example `3 passed, 0 failed`. */
export function formatCounts({ passed, failed, skipped }: Counts): string {
  const line = `${passed} passed, ${failed} failed`;
  return skipped > 0 ? `${line}, ${skipped} skipped` : line;
}

function unescape(text: string): string {
  return text.replace(/&(lt|gt|quot|apos|amp);/g, (_, name: string) => ENTITIES[name]!);
}

function countTags(xml: string, name: string): number {
  return xml.match(new RegExp(`<${name}[\\s/>]`, "g"))?.length ?? 0;
}
