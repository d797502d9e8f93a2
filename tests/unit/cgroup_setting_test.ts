/** Tests of limits as cgroups take them. */
import { assertEquals } from "@std/assert";
import {
  legacySettings,
  neededControllers,
  type Setting,
  unifiedSettings,
} from "../../src/sandbox/cgroup/setting.ts";
import { DEFAULT_LIMITS, type Limits, NO_LIMITS } from "../../src/sandbox/limit.ts";

const limits = (some: Partial<Limits>): Limits => ({ ...NO_LIMITS, ...some });
const shown = (settings: readonly Setting[]) => settings.map(({ file, text }) => `${file}=${text}`);

Deno.test("neededControllers() names only those that a limit needs", () => {
  assertEquals(neededControllers(NO_LIMITS, false), []);
  assertEquals(neededControllers(limits({ openFiles: 9, fileBytes: 9, cpuTimeMs: 9 }), false), []);
  assertEquals(neededControllers(limits({ memoryBytes: 9 }), false), ["memory"]);
  assertEquals(neededControllers(limits({ pids: 9, cpus: 1 }), false), ["pids", "cpu"]);
  assertEquals(neededControllers(limits({ cpuWeight: 9 }), false), ["cpu"]);
});

Deno.test("neededControllers() leaves the usual number of processes to rlimits, but for the host's root", () => {
  assertEquals(neededControllers(DEFAULT_LIMITS, false), []);
  assertEquals(neededControllers(DEFAULT_LIMITS, true), ["pids"]);
});

Deno.test("unifiedSettings() limits memory, and swap beside it to nothing unless said", () => {
  const settings = (some: Partial<Limits>) => shown(unifiedSettings("memory", limits(some)));
  assertEquals(settings({}), []);
  assertEquals(settings({ memoryBytes: 64 }), ["memory.max=64", "memory.swap.max=0"]);
  assertEquals(settings({ memoryBytes: 64, swapBytes: 9 }), ["memory.max=64", "memory.swap.max=9"]);
});

Deno.test("legacySettings() limits memory before memory and swap together", () => {
  const settings = (some: Partial<Limits>) => shown(legacySettings("memory", limits(some)));
  assertEquals(settings({}), []);
  assertEquals(settings({ memoryBytes: 64, swapBytes: 9 }), [
    "memory.limit_in_bytes=64",
    "memory.memsw.limit_in_bytes=73",
  ]);
  assertEquals(settings({ memoryBytes: 64 })[1], "memory.memsw.limit_in_bytes=64");
});

Deno.test("processes of ours are not counted against the sandbox's", () => {
  for (const settings of [unifiedSettings, legacySettings]) {
    assertEquals(shown(settings("pids", limits({ pids: 10 }))), ["pids.max=12"]);
    assertEquals(settings("pids", limits({})), []);
  }
});

Deno.test("processors are limited by a share of a tenth of a second, never below a millisecond", () => {
  const cpu = (some: Partial<Limits>) => limits(some);
  assertEquals(shown(unifiedSettings("cpu", cpu({ cpus: 1.5 }))), ["cpu.max=150000 100000"]);
  assertEquals(shown(unifiedSettings("cpu", cpu({ cpus: 0.001 }))), ["cpu.max=1000 100000"]);
  assertEquals(shown(legacySettings("cpu", cpu({ cpus: 0.5 }))), [
    "cpu.cfs_period_us=100000",
    "cpu.cfs_quota_us=50000",
  ]);
});

Deno.test("the usual weight is the usual number of shares", () => {
  assertEquals(shown(unifiedSettings("cpu", limits({ cpuWeight: 100 }))), ["cpu.weight=100"]);
  assertEquals(shown(legacySettings("cpu", limits({ cpuWeight: 100 }))), ["cpu.shares=1024"]);
  assertEquals(shown(legacySettings("cpu", limits({ cpuWeight: 0.01 }))), ["cpu.shares=2"]);
});
