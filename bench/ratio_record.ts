/** Ratios that were recorded on an idle machine, and whether they still hold. */
import { join } from "@std/path/join";
import type { BenchReport } from "../src/app/bench/measure.ts";
import { ROOT } from "../tools/checkout.ts";
import { findSlower, type Ratios, toRatios } from "./check.ts";
import { run } from "./context.ts";
import { PROGRAM } from "./peer/minisandbox.ts";

/** Few sandboxes, and the peers that need no daemon. */
const ARGUMENTS = [
  ...["start", "prepare", "process", "session", "unpack", "memory", "disk"],
  ...["--counts", "1,16", "--size", "50M", "--json"],
  ...["--peers", "bare,bwrap,untar,pexpect-fast,tar"],
];

const RECORD = join(ROOT, "bench/ratio.json");

/** Measures, and says what was compared. @throws {Error} If something is slower, or no record is there. */
export async function checkRatios(): Promise<string> {
  const recorded = await readRecord();
  const slower = findSlower(recorded, toRatios(await measureCases()));
  if (slower.length > 0) throw new Error(`slower than recorded:\n  ${slower.join("\n  ")}`);
  return `none of ${Object.keys(recorded).length} measures is slower than recorded`;
}

/** Measures, and writes the record. @throws {Error} If the machine is busy. */
export async function recordRatios(): Promise<void> {
  const report = await measureCases();
  if (report.warnings.length > 0) throw new Error(`Cannot record: ${report.warnings.join("; ")}`);
  await Deno.writeTextFile(RECORD, `${JSON.stringify(toRatios(report), null, 2)}\n`);
}

async function readRecord(): Promise<Ratios> {
  try {
    return JSON.parse(await Deno.readTextFile(RECORD));
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new Error("Cannot compare: nothing is recorded. Run ./dev bench --record when idle.");
  }
}

async function measureCases(): Promise<BenchReport> {
  return JSON.parse(await run([PROGRAM, "bench", ...ARGUMENTS]));
}
