/** A disk, and archives that are unpacked to it without end, for tests of the adaptive budget. */
import {
  type Control,
  type ControlLimits,
  firstControl,
  nextControl,
  noteLatency,
} from "../../src/budget/controller.ts";

/** What is simulated. */
export interface SimulatedDisk {
  /** What it can write in a second. */
  readonly diskRate: number;
  /** What one unpacking can write in a second. */
  readonly jobRate: number;
  readonly archiveBytes: number;
  /** Whether the kernel tells of pressure. */
  readonly tellsPressure: boolean;
  /** What a sandbox's start takes when the disk has room; null if nobody starts any. */
  readonly startMs: number | null;
}

/** The budget, and what it brought about. */
export interface SimulatedStep {
  readonly control: Control;
  readonly jobs: number;
  readonly throughput: number;
  readonly latencyMs: number | null;
}

/** Follows the budget through `count` samples, each off by up to `noise` as `random` (0 to 1) says. */
export function simulate(
  disk: SimulatedDisk,
  limits: ControlLimits,
  options: { readonly count: number; readonly random: () => number; readonly noise: number },
): SimulatedStep[] {
  const { archiveBytes, diskRate, jobRate, startMs, tellsPressure } = disk;
  const off = () => 1 + options.noise * (2 * options.random() - 1);
  const steps: SimulatedStep[] = [];
  let control = noteLatency(firstControl(limits), startMs); // a start before the load
  for (let i = 0; i < options.count; i++) {
    const jobs = Math.max(1, Math.floor(control.budgetBytes / archiveBytes));
    const load = jobs * jobRate / diskRate;
    const throughput = jobs * jobRate / Math.max(1, load) * off();
    const pressure = tellsPressure ? Math.max(0, 1 - 1 / Math.max(1, load)) : null;
    const latencyMs = startMs === null ? null : startMs * Math.max(1, load) * off();
    control = nextControl(
      control,
      { throughput, pressure, latencyMs, leastBytes: archiveBytes },
      limits,
    );
    steps.push({ control, jobs, throughput, latencyMs });
  }
  return steps;
}
