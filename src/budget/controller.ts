/** How large the budget is to be: pure, from one sample of the disk to the next. */

/** What was measured since the last sample, while something waited for the budget. */
export interface Sample {
  /** Bytes written a second. */
  readonly throughput: number;
  /** The share of time in which some task waited for a disk, from 0 to 1; null if unknown. */
  readonly pressure: number | null;
  /** How late a task woke that had nothing to do but that; null if unknown. */
  readonly latencyMs: number | null;
  /** What waits at the head of the queue: the budget never falls below it. */
  readonly leastBytes: number;
}

/** The budget, and what the next decision is made from. */
export interface Control {
  readonly budgetBytes: number;
  /** `search` doubles until the first setback; `hold` adds a little now and then. */
  readonly stage: "search" | "hold";
  /** The budget before it was raised last; null once it is known whether that helped. */
  readonly triedFrom: number | null;
  /** What was written a second with the present budget, or before it was raised. */
  readonly throughput: number;
  /** Samples to pass before the next decision: what was decided must show first. */
  readonly rest: number;
  /** The latency of an undisturbed machine. */
  readonly calmMs: number | null;
}

/** Where the budget begins, and how far it goes. */
export interface ControlLimits {
  readonly firstBytes: number;
  readonly maxBytes: number;
  /** What is added when it holds. */
  readonly stepBytes: number;
}

/** The disk is the wall: tasks wait for it most of the time. */
const HIGH_PRESSURE = 0.7;

/** Up to this the disk has room. */
const LOW_PRESSURE = 0.4;

/** A raise has helped if throughput grew by this factor. */
const GROWTH = 1.08;

/** Sandboxes suffer if tasks wake so much later than on an undisturbed machine. */
const SUFFERING = 2;

/** Less than this more is no suffering, however quick an undisturbed machine is. */
const SUFFERING_MS = 5;

/** Samples after a change before it is judged. */
const SETTLE = 1;

/** Samples after a setback before more is tried. */
const CAUTION = 8;

/** The control before anything was measured. */
export function firstControl({ firstBytes }: ControlLimits): Control {
  return {
    budgetBytes: firstBytes,
    stage: "search",
    triedFrom: null,
    throughput: 0,
    rest: SETTLE,
    calmMs: null,
  };
}

/** Takes a latency, which counts as undisturbed if it is the shortest so far. */
export function noteLatency(control: Control, latencyMs: number | null): Control {
  if (latencyMs === null) return control;
  return { ...control, calmMs: Math.min(control.calmMs ?? Infinity, latencyMs) };
}

/**
 * Decides on the budget: halved when sandboxes or the disk suffer, raised while that brings more
 * throughput, put back where it brought none.
 */
export function nextControl(control: Control, sample: Sample, limits: ControlLimits): Control {
  const next = decide(noteLatency(control, sample.latencyMs), sample, limits);
  const most = Math.max(limits.maxBytes, sample.leastBytes);
  return {
    ...next,
    budgetBytes: Math.min(most, Math.max(sample.leastBytes, Math.round(next.budgetBytes))),
  };
}

function decide(control: Control, sample: Sample, limits: ControlLimits): Control {
  const { budgetBytes, stage, triedFrom, rest } = control;
  if (rest > 0) return { ...control, rest: rest - 1 };

  const pressure = sample.pressure ?? 0;
  const isCrowded = pressure >= HIGH_PRESSURE && sample.throughput < control.throughput * GROWTH;
  if (isSuffering(control, sample) || isCrowded) {
    return {
      ...control,
      budgetBytes: budgetBytes / 2,
      stage: "hold",
      triedFrom: null,
      throughput: sample.throughput,
      rest: CAUTION,
    };
  }
  if (triedFrom !== null && sample.throughput < control.throughput * GROWTH) {
    return { ...control, budgetBytes: triedFrom, stage: "hold", triedFrom: null, rest: CAUTION };
  }
  if (pressure > LOW_PRESSURE) {
    return { ...control, triedFrom: null, throughput: sample.throughput };
  }
  return {
    ...control,
    budgetBytes: stage === "search" ? budgetBytes * 2 : budgetBytes + limits.stepBytes,
    triedFrom: budgetBytes,
    throughput: sample.throughput,
    rest: SETTLE,
  };
}

function isSuffering({ calmMs }: Control, { latencyMs }: Sample): boolean {
  if (latencyMs === null || calmMs === null) return false;
  return latencyMs > calmMs * SUFFERING && latencyMs > calmMs + SUFFERING_MS;
}
