/** Reads what pytest's short summary (`-rA`) says of each test. */

/** What a test did. */
export type Verdict = "passed" | "failed" | "error" | "missing";

const VERDICTS = { PASSED: "passed", FAILED: "failed", ERROR: "error" } as const;

/** Finds the verdict on each of the named tests, whose names may hold spaces. */
export function toVerdicts(output: string, ids: readonly string[]): Map<string, Verdict> {
  const verdicts = new Map<string, Verdict>(ids.map((id) => [id, "missing"]));
  for (const line of output.split("\n")) {
    const [word = ""] = line.split(" ", 1);
    if (!(word in VERDICTS)) continue;
    const rest = line.slice(word.length + 1);
    const id = ids.find((id) => rest === id || rest.startsWith(`${id} - `));
    if (id !== undefined) verdicts.set(id, VERDICTS[word as keyof typeof VERDICTS]);
  }
  return verdicts;
}

/** Counts the tests that went as expected: passed, or failed where a failure is expected. */
export function countPassed(output: string): number {
  return output.split("\n").filter((line) => /^(PASSED|XFAIL) /.test(line)).length;
}

/** Names the tests whose verdict is not the expected one. */
export function namesBut(expected: Verdict, verdicts: Map<string, Verdict>): string[] {
  return [...verdicts].filter(([, verdict]) => verdict !== expected)
    .map(([id, verdict]) => `${id} ${verdict}`);
}
