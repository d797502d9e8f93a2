/** Tests of the adaptive budget's decisions, on simulated disks. */
import { assert, assertEquals } from "@std/assert";
import * as fc from "fast-check";
import { autoLimits } from "../../src/budget/budget.ts";
import { parseControl } from "../../src/budget/control_note.ts";
import { firstControl, nextControl } from "../../src/budget/controller.ts";
import { simulate, type SimulatedDisk } from "../support/simulated_disk.ts";

const MB = 1e6;
const limits = autoLimits(4);
const quiet = { throughput: 100 * MB, pressure: 0, latencyMs: null, leastBytes: 1 };

const anyDisk: fc.Arbitrary<SimulatedDisk> = fc.record({
  diskRate: fc.integer({ min: 20, max: 4000 }).map((n) => n * MB),
  jobRate: fc.integer({ min: 20, max: 400 }).map((n) => n * MB),
  archiveBytes: fc.integer({ min: 1, max: 1000 }).map((n) => n * MB),
  tellsPressure: fc.boolean(),
  startMs: fc.constantFrom(null, 3, 20),
});

/** What all could write together, if the budget went as far as it may. */
function mostThroughput({ archiveBytes, diskRate, jobRate }: SimulatedDisk): number {
  return Math.min(diskRate, jobRate * Math.max(1, Math.floor(limits.maxBytes / archiveBytes)));
}

function mean(numbers: readonly number[]): number {
  return numbers.reduce((a, b) => a + b, 0) / numbers.length;
}

Deno.test("nextControl() never goes below one archive, nor above what is allowed", () => {
  fc.assert(fc.property(anyDisk, fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })), (
    disk,
    random,
  ) => {
    const options = { count: 200, noise: 0.3, random: () => random.next().value ?? 0 };
    for (const { control } of simulate(disk, limits, options)) {
      assert(control.budgetBytes >= disk.archiveBytes);
      assert(control.budgetBytes <= Math.max(limits.maxBytes, disk.archiveBytes));
    }
  }));
});

Deno.test("nextControl() comes to use most of a disk, whatever its speed", () => {
  fc.assert(fc.property(anyDisk, (disk) => {
    const steps = simulate(disk, limits, { count: 400, noise: 0, random: () => 0.5 });
    const reached = mean(steps.slice(200).map(({ throughput }) => throughput));
    assert(
      reached >= 0.6 * mostThroughput(disk),
      `${reached / MB} of ${mostThroughput(disk) / MB} MB/s`,
    );
  }));
});

Deno.test("nextControl() does not crowd a disk: the load settles near what it bears", () => {
  fc.assert(fc.property(anyDisk, (disk) => {
    const steps = simulate(disk, limits, { count: 400, noise: 0, random: () => 0.5 });
    const jobs = mean(steps.slice(200).map((step) => step.jobs));
    const enough = Math.max(1, Math.ceil(disk.diskRate / disk.jobRate));
    const first = Math.max(1, limits.firstBytes / disk.archiveBytes);
    const step = limits.stepBytes / disk.archiveBytes;
    assert(jobs <= 2.5 * Math.max(enough, first) + step + 1, `${jobs} jobs, ${enough} are enough`);
  }));
});

Deno.test("nextControl() keeps sandboxes quick: their starts seldom take thrice as long", () => {
  const slow = { diskRate: 200 * MB, jobRate: 100 * MB, archiveBytes: 20 * MB };
  const disk = { ...slow, tellsPressure: false, startMs: 20 };
  const steps = simulate(disk, limits, { count: 400, noise: 0, random: () => 0.5 });
  const late = steps.slice(40).filter(({ latencyMs }) => latencyMs! > 60);
  assert(late.length <= 20, `${late.length} of 360`);
});

Deno.test("nextControl() doubles while throughput grows, and goes back when it does not", () => {
  const begin = { ...firstControl(limits), rest: 0 };
  const raised = nextControl(begin, quiet, limits);
  assertEquals(raised.budgetBytes, 2 * limits.firstBytes);
  const more = { ...quiet, throughput: 200 * MB };
  const again = nextControl({ ...raised, rest: 0 }, more, limits);
  assertEquals(again.budgetBytes, 4 * limits.firstBytes);
  const back = nextControl({ ...again, rest: 0 }, more, limits);
  assertEquals([back.budgetBytes, back.stage], [2 * limits.firstBytes, "hold"]);
});

Deno.test("nextControl() halves when a sandbox's start takes twice as long", () => {
  const calm = { ...firstControl(limits), rest: 0, calmMs: 10 };
  const { budgetBytes } = nextControl(calm, { ...quiet, latencyMs: 21 }, limits);
  assertEquals(budgetBytes, limits.firstBytes / 2);
});

Deno.test("nextControl() puts half back where it takes throughput, and waits longer each time", () => {
  const pressed = { ...quiet, pressure: 1 };
  const begin = { ...firstControl(limits), rest: 0 };
  const half = nextControl(begin, pressed, limits);
  assertEquals([half.budgetBytes, half.triedFrom], [limits.firstBytes / 2, limits.firstBytes]);
  const ready = { ...half, rest: 0 };
  const enough = nextControl(ready, { ...pressed, throughput: 95 * MB }, limits);
  assertEquals([enough.budgetBytes, enough.triedFrom], [
    limits.firstBytes / 4,
    limits.firstBytes / 2,
  ]);
  // What was written before the first halving counts for the second.
  const less = nextControl({ ...enough, rest: 0 }, { ...pressed, throughput: 90 * MB }, limits);
  assertEquals([less.budgetBytes, less.triedFrom], [limits.firstBytes / 2, null]);
  const again = nextControl({ ...less, rest: 0 }, pressed, limits);
  const worse = nextControl({ ...again, rest: 0 }, { ...pressed, throughput: MB }, limits);
  assert(worse.rest > less.rest);
});

Deno.test("nextControl() unpacks as much as a fixed budget on a machine that others keep busy", () => {
  const archiveBytes = 20 * MB;
  let control = firstControl(limits);
  let written = 0;
  for (let i = 0; i < 200; i++) {
    const throughput = control.budgetBytes; // each has its share of the processors
    written += throughput;
    const sample = { throughput, pressure: 1, latencyMs: 8, leastBytes: 2 * archiveBytes };
    control = nextControl(control, sample, limits);
  }
  assert(written >= 0.93 * 200 * limits.firstBytes, `${written / 200 / limits.firstBytes}`);
});

Deno.test("parseControl() takes what was left, and nothing else", () => {
  const control = firstControl(limits);
  assertEquals(parseControl(JSON.parse(JSON.stringify(control))), control);
  fc.assert(fc.property(fc.jsonValue(), (value) => {
    const parsed = parseControl(value);
    assert(parsed === null || parsed.budgetBytes > 0);
  }));
  for (const budgetBytes of [0, -1, null, "1"]) {
    assertEquals(parseControl({ ...control, budgetBytes }), null);
  }
});
