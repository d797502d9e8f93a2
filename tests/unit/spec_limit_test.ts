/** Tests of the limits that a spec may hold, whoever gave it. */
import { assertEquals, assertThrows } from "@std/assert";
import { checkSpec, DEFAULT_SPEC, type LimitsSpec, type SandboxSpec } from "../../src/app/spec.ts";
import { parseSpec } from "../../src/app/spec_json.ts";
import { UsageError } from "../../src/errors.ts";

const spec = (limits: Partial<LimitsSpec>, more: Partial<SandboxSpec> = {}): SandboxSpec => ({
  ...DEFAULT_SPEC,
  ...more,
  limits: { ...DEFAULT_SPEC.limits, ...limits },
});
const check = (limits: Partial<LimitsSpec>, more?: Partial<SandboxSpec>) =>
  checkSpec(spec(limits, more));
const refusal = (limits: Partial<LimitsSpec>, more?: Partial<SandboxSpec>) =>
  assertThrows(() => check(limits, more), UsageError).message;

/** The least that each limit may be. */
const LEAST: Readonly<Record<keyof LimitsSpec, number>> = {
  memoryBytes: 2 ** 20,
  swapBytes: 0,
  cpus: 0.01,
  cpuWeight: 1,
  pids: 1,
  openFiles: 8,
  fileBytes: 0,
  cpuTimeMs: 1,
  tmpBytes: 4096,
  shmBytes: 4096,
  diskBytes: 65536,
  inodes: 64,
  outputBytes: 0,
};

const inMemory = { upper: { kind: "tmpfs", sizeBytes: null } } as const;

Deno.test("checkSpec() takes each limit from its least on, and none", () => {
  for (const [name, least] of Object.entries(LEAST)) {
    const beside = name === "swapBytes" ? { memoryBytes: 2 ** 20 } : {};
    check({ ...beside, [name]: least }, inMemory);
    check({ [name]: null });
  }
});

Deno.test("checkSpec() refuses each limit below its least, above all numbers, and no number", () => {
  for (const [name, least] of Object.entries(LEAST)) {
    for (const value of [least - 0.001, -1, NaN, -Infinity, Infinity, 2 ** 53]) {
      assertEquals(
        refusal({ [name]: value }, inMemory),
        `Cannot use the limit "${name} ${value}": it is out of range`,
      );
    }
  }
});

Deno.test("checkSpec() refuses limits that contradict one another", () => {
  assertEquals(
    refusal({ cpuWeight: 10_001 }),
    'Cannot use the limit "cpuWeight 10001": it is more than 10000',
  );
  assertEquals(
    refusal({ swapBytes: 4096 }),
    'Cannot use the limit "swapBytes 4096": it needs a limit of memory beside it',
  );
  for (const limits of [{ diskBytes: 2 ** 20 }, { inodes: 100 }]) {
    assertEquals(
      refusal(limits),
      "Cannot limit what is written on disk: the kernel has no such limit. " +
        "Keep it in memory: give --upper tmpfs with --disk or --inodes.",
    );
    check(limits, inMemory);
  }
});

Deno.test("parseSpec() reads limits and hardening beside the usual ones", () => {
  const text = JSON.stringify({
    limits: { memoryBytes: 2 ** 30, pids: null },
    hardening: { capabilities: ["CAP_CHOWN"], allowsSetuid: true },
  });
  const { limits, hardening } = parseSpec(text, "spec");
  assertEquals(limits, { ...DEFAULT_SPEC.limits, memoryBytes: 2 ** 30, pids: null });
  assertEquals(hardening, {
    capabilities: ["CAP_CHOWN"],
    allowsSetuid: true,
    allowsNesting: false,
  });
});

Deno.test("parseSpec() refuses a limit or capability that is not there", () => {
  const refused = (value: unknown) =>
    assertThrows(() => parseSpec(JSON.stringify(value), "spec"), UsageError);
  refused({ limits: { memory: 1 } });
  refused({ limits: { pids: "many" } });
  refused({ hardening: { capabilities: ["CAP_SYS_ADMIN"] } });
  refused({ hardening: { capabilities: "all" } });
});
