/** Tests of bench on this host. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { StartReport } from "../../src/app/bench/engine.ts";
import { assertNothingLeft, minisandbox } from "../support/minisandbox.ts";

Deno.test("bench engine measures each phase, one after the other and together", async () => {
  for (const atOnce of [1, 3]) {
    const args = ["bench", "engine", "--count", "5", "--at-once", `${atOnce}`, "--json"];
    const { code, stdout } = await minisandbox(args);
    assertEquals(code, 0);
    const { count, once, rows, totalMs } = JSON.parse(stdout) as StartReport;
    assertEquals([count, Object.keys(once)], [5, ["holder", "base", "unpack"]]);
    const first = atOnce === 1 ? ["refill"] : [];
    const phases = ["namespaces", "upper", "create", "start", "firstOutput", "close"];
    const sums = ["create to program start", "to first output"];
    assertEquals(Object.keys(rows), [...first, ...phases, ...sums]);
    for (const { median, p95, min, max } of Object.values(rows)) {
      assert(0 <= min && min <= median && median <= p95 && p95 <= max && max <= totalMs);
    }
    assertNothingLeft();
  }
});

Deno.test("bench engine takes a command of the caller, which must print something", async () => {
  const own = await minisandbox(["bench", "engine", "--count", "2", "--", "uname", "-s"]);
  assertEquals(own.code, 0);
  assertStringIncludes(own.stdout, "2 sandboxes, 1 at once: ");
  const silent = await minisandbox(["bench", "engine", "--count", "2", "--", "true"]);
  assertEquals([silent.code, silent.stderr], [
    125,
    'minisandbox: Cannot measure ["true"]: it printed "", not anything\n',
  ]);
  assertNothingLeft();
});
