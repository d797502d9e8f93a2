/** Properties that are held for many values; how many, and from which seed, is printed. */
import fc from "fast-check";

/** Asks for the same values again as a run that printed this seed. */
const SEED = Deno.env.get("MINISANDBOX_FUZZ_SEED");

/** Checks a property; a failure names the seed and the smallest value that breaks it. */
export function assertProperty<T>(
  property: fc.IProperty<T>,
  { numRuns, examples = [] }: { readonly numRuns: number; readonly examples?: T[] },
): void {
  const seed = SEED === undefined ? {} : { seed: Number(SEED) };
  const result = fc.check(property, { numRuns, examples, ...seed });
  console.log(`${result.numRuns} values, seed ${result.seed}`);
  if (result.failed) throw new Error(fc.defaultReportMessage(result) ?? "a property failed");
}

/** Gives the seed of a fuzz run of our own. */
export function fuzzSeed(): number {
  return SEED === undefined ? Math.trunc(Math.random() * 2 ** 31) : Number(SEED);
}
