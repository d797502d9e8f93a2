/** One bench, as the command line knows it. */
import type { OptionSpecs } from "../src/cli/option.ts";
import type { Report } from "./report.ts";

/** A bench. */
export interface Bench {
  readonly usage: string;
  /** What it takes beside `--json` and `--help`; each has a value. */
  readonly options: OptionSpecs;
  readonly measure: (options: Readonly<Record<string, string | undefined>>) => Promise<Report>;
}
