/** Counts the tests in the JUnit report that `deno test` writes. */

/** How many tests ended how. */
export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

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

function countTags(xml: string, name: string): number {
  return xml.match(new RegExp(`<${name}[\\s/>]`, "g"))?.length ?? 0;
}
