/** Starts in a live engine, as `minisandbox bench engine` measures them. */
import type { StartReport } from "../src/app/bench/engine.ts";
import { type Context, run } from "./context.ts";
import { layerOptions, PROGRAM } from "./peer/minisandbox.ts";

/** Measures starts in one engine of its own. */
export async function measureLive(context: Context, count: number): Promise<StartReport> {
  const options = ["--count", String(count), "--json"];
  return JSON.parse(
    await run([PROGRAM, "bench", "engine", ...layerOptions(context), ...options]),
  ) as StartReport;
}
