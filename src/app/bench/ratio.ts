/** How two sets of measurements compare, and how sure that is. */
import { toSpread } from "./spread.ts";

/** A ratio of medians, with the interval that holds it in 95 of 100 resamplings. */
export interface Ratio {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

const RESAMPLINGS = 1000;

/** More samples than this say nothing more of a median, and cost time. */
const MOST_SAMPLES = 400;

/** Compares the median of `ours` with that of `theirs`, by bootstrap; the same samples, the same ratio. */
export function toRatio(ours: readonly number[], theirs: readonly number[]): Ratio {
  const random = openRandom(ours.length * 65_537 + theirs.length);
  const [a, b] = [thin(ours), thin(theirs)];
  const median = (samples: readonly number[]) => toSpread(samples).median;
  const ratios = Array.from({ length: RESAMPLINGS }, () => {
    return median(resample(a, random)) / median(resample(b, random));
  }).toSorted((x, y) => x - y);
  return {
    value: median(ours) / median(theirs),
    low: ratios[Math.floor(0.025 * RESAMPLINGS)]!,
    high: ratios[Math.ceil(0.975 * RESAMPLINGS) - 1]!,
  };
}

function thin(samples: readonly number[]): readonly number[] {
  const step = Math.max(1, samples.length / MOST_SAMPLES);
  return Array.from(
    { length: Math.min(samples.length, MOST_SAMPLES) },
    (_, i) => samples[Math.floor(i * step)]!,
  );
}

function resample(samples: readonly number[], random: () => number): number[] {
  return samples.map(() => samples[Math.floor(random() * samples.length)]!);
}

/** A linear congruential generator (Numerical Recipes): a report is the same each time it is made. */
function openRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
