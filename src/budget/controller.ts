/** How large the budget is to be: pure, from one sample of the disk to the next. */

/** What was measured since the last sample, while something waited for the budget. */
export interface Sample {
  /** Bytes written a second. */
  readonly throughput: number;
  /** The share of time in which some task waited for a disk or a processor; null if unknown. */
  readonly pressure: number | null;
  /** How late a task woke that had nothing to do but that; null if unknown. */
  readonly latencyMs: number | null;
  /** What waits at the head of the queue: the budget never falls below it. */
  readonly leastBytes: number;
}

/** The budget, and what the next decision is made from. */
export interface Control {
  readonly budgetBytes: number;
  /** `search` doubles until the first setback; `hold` tries a little more, or half, now and then. */
  readonly stage: "search" | "hold";
  /** The budget before it was changed last; null once it is known whether that was right. */
  readonly triedFrom: number | null;
  /** What was written a second with the present budget, or before it was changed. */
  readonly throughput: number;
  /** Samples to pass before the next decision: what was decided must show first. */
  readonly rest: number;
  /** How many that are after the next setback. */
  readonly caution: number;
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

/** The machine is the wall: tasks wait for a disk or a processor most of the time. */
const HIGH_PRESSURE = 0.7;

/** Up to this it has room. */
const LOW_PRESSURE = 0.4;

/** A raise has helped if throughput grew by this factor. */
const GROWTH = 1.08;

/** Half the budget is enough if throughput did not fall below this share. */
const ENOUGH = 0.93;

/** Sandboxes suffer if tasks wake so much later than on an undisturbed machine. */
const SUFFERING = 2;

/** Less than this more is no suffering, however quick an undisturbed machine is. */
const SUFFERING_MS = 5;

/** Samples after a raise before it is judged. */
const SETTLE = 1;

/** Samples after less was allowed: what runs goes on to its end. */
const DRAIN = 2;

/** Samples after a setback before the next trial; twice as many after each that follows. */
const CAUTION = 4;
const MOST_CAUTION = 64;

/** The control before anything was measured. */
export function firstControl({ firstBytes }: ControlLimits): Control {
  return {
    budgetBytes: firstBytes,
    stage: "search",
    triedFrom: null,
    throughput: 0,
    rest: SETTLE,
    caution: CAUTION,
    calmMs: null,
  };
}

/** Takes a latency, which counts as undisturbed if it is the shortest so far. */
export function noteLatency(control: Control, latencyMs: number | null): Control {
  if (latencyMs === null) return control;
  return { ...control, calmMs: Math.min(control.calmMs ?? Infinity, latencyMs) };
}

/**
 * Decides on the budget: halved when sandboxes or the machine suffer, raised while it has room; and put
 * back where less brought less throughput, or more did not bring more.
 */
export function nextControl(control: Control, sample: Sample, limits: ControlLimits): Control {
  const most = Math.max(limits.maxBytes, sample.leastBytes);
  const clamp = (bytes: number) => Math.min(most, Math.max(sample.leastBytes, Math.round(bytes)));
  const noted = noteLatency(control, sample.latencyMs);
  const next = noted.rest > 0
    ? { ...noted, rest: noted.rest - 1 }
    : noted.triedFrom === null
    ? tryNext({ ...noted, throughput: sample.throughput }, sample, limits, clamp)
    : judge(noted, noted.triedFrom, sample, limits, clamp);
  return { ...next, budgetBytes: clamp(next.budgetBytes) };
}

/** Keeps what was tried and goes on, or puts it back and waits. */
function judge(
  control: Control,
  triedFrom: number,
  sample: Sample,
  limits: ControlLimits,
  clamp: (bytes: number) => number,
): Control {
  const wasRaised = control.budgetBytes > triedFrom;
  const needed = control.throughput * (wasRaised ? GROWTH : ENOUGH);
  if (sample.throughput < needed) {
    return {
      ...control,
      budgetBytes: triedFrom,
      stage: "hold",
      triedFrom: null,
      rest: control.caution,
      caution: Math.min(MOST_CAUTION, 2 * control.caution),
    };
  }
  // Several halvings in a row must not each take a little.
  const throughput = wasRaised
    ? sample.throughput
    : Math.max(control.throughput, sample.throughput);
  const kept: Control = { ...control, triedFrom: null, throughput, caution: CAUTION };
  return wasRaised && isPressed(control, sample) ? kept : tryNext(kept, sample, limits, clamp);
}

function tryNext(
  control: Control,
  sample: Sample,
  limits: ControlLimits,
  clamp: (bytes: number) => number,
): Control {
  const { budgetBytes, stage } = control;
  if (isPressed(control, sample)) {
    const less = clamp(budgetBytes / 2);
    if (less >= budgetBytes) return control;
    return { ...control, budgetBytes: less, stage: "hold", triedFrom: budgetBytes, rest: DRAIN };
  }
  if ((sample.pressure ?? 0) > LOW_PRESSURE) return control;
  const more = clamp(stage === "search" ? budgetBytes * 2 : budgetBytes + limits.stepBytes);
  if (more <= budgetBytes) return control;
  return { ...control, budgetBytes: more, triedFrom: budgetBytes, rest: SETTLE };
}

function isPressed(control: Control, sample: Sample): boolean {
  return isSuffering(control, sample) || (sample.pressure ?? 0) >= HIGH_PRESSURE;
}

function isSuffering({ calmMs }: Control, { latencyMs }: Sample): boolean {
  if (latencyMs === null || calmMs === null) return false;
  return latencyMs > calmMs * SUFFERING && latencyMs > calmMs + SUFFERING_MS;
}
