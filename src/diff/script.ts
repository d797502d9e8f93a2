/**
 * Finds which lines of two texts are not shared: E. W. Myers, "An O(ND) Difference Algorithm and Its
 * Variations", in linear space. Where several answers are as short, it gives the one that git gives.
 */
import { alignGroups } from "./group.ts";
import type { Lines } from "./line.ts";

/** Marks of lines: 1 for each that the other text has not. There is one more, always 0. */
export type Marks = Uint8Array;

/** Where two texts begin to differ, and where they end to. */
interface Range {
  readonly start: number;
  readonly oldEnd: number;
  readonly nowEnd: number;
}

/** Gives the marks of both texts. */
export function findChanges(old: Lines, now: Lines): readonly [Marks, Marks] {
  const marks = [old, now].map(({ ids }) => new Uint8Array(ids.length + 1)) as [Marks, Marks];
  const range = differing(old.ids, now.ids);
  const kept = [
    keepSharable(old.ids, now.ids, { start: range.start, end: range.oldEnd }, marks[0]),
    keepSharable(now.ids, old.ids, { start: range.start, end: range.nowEnd }, marks[1]),
  ] as const;
  new Comparison(kept, [old.ids, now.ids], marks).run();
  alignGroups(old, marks[0], marks[1]);
  alignGroups(now, marks[1], marks[0]);
  return marks;
}

function differing(old: Int32Array, now: Int32Array): Range {
  const shorter = Math.min(old.length, now.length);
  let start = 0;
  while (start < shorter && old[start] === now[start]) start++;
  let [oldEnd, nowEnd] = [old.length, now.length];
  while (oldEnd > start && nowEnd > start && old[oldEnd - 1] === now[nowEnd - 1]) {
    oldEnd--;
    nowEnd--;
  }
  return { start, oldEnd, nowEnd };
}

/** What a line can tell of where it belongs. */
const WEIGHT = { alone: 0, telling: 1, common: 2 } as const;

/** A line that the other text has so often tells little. */
const MOST_COMMON = 1024;

/**
 * Marks lines that the other text lacks, and those among them that it has too often to tell anything;
 * gives the indices of all else.
 */
function keepSharable(
  own: Int32Array,
  other: Int32Array,
  { start, end }: { readonly start: number; readonly end: number },
  marks: Marks,
): Int32Array {
  const counts = new Map<number, number>();
  for (const id of other) counts.set(id, (counts.get(id) ?? 0) + 1);
  const often = Math.min(roughRoot(own.length), MOST_COMMON);
  const weights = own.subarray(start, end).map((id) => {
    const count = counts.get(id) ?? 0;
    return count === 0 ? WEIGHT.alone : count >= often ? WEIGHT.common : WEIGHT.telling;
  });
  const kept: number[] = [];
  for (const [i, weight] of weights.entries()) {
    const tells = weight === WEIGHT.telling ||
      (weight === WEIGHT.common && !isAmidAlone(weights, i));
    if (tells) kept.push(start + i);
    else marks[start + i] = 1;
  }
  return Int32Array.from(kept);
}

/** About the square root: a power of two. */
function roughRoot(value: number): number {
  let root = 1;
  for (let rest = value; rest > 0; rest >>= 2) root *= 2;
  return root;
}

/** So far it is looked. */
const WINDOW = 100;

/** Says whether a line lies among such that the other text lacks, and few that are as common. */
function isAmidAlone(weights: Int32Array, at: number): boolean {
  let [alone, common] = [0, 2];
  for (const step of [-1, 1]) {
    let found = 0;
    for (let i = at + step; Math.abs(i - at) <= WINDOW && i >= 0 && i < weights.length; i += step) {
      if (weights[i] === WEIGHT.telling) break;
      if (weights[i] === WEIGHT.alone) found++;
      else common++;
    }
    if (found === 0) return false;
    alone += found;
  }
  return 4 * common < common + alone;
}

/** A part of both texts. */
interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/** Where a box is cut in two; whether each part is to be looked through wholly. */
interface Cut {
  readonly x: number;
  readonly y: number;
  readonly isSure: readonly [before: boolean, after: boolean];
}

/** From so many steps on a guess will do. */
const LEAST_PATIENCE = 256;

/** After so many it is not looked for what else is shared: a second or two, and texts of which all moved. */
const MOST_STEPS = 2 ** 26;

const FAR = 0x7fff_ffff;

/** The search for a shortest way: right by a line of the old text, down by one of the new, or both. */
class Comparison {
  readonly #kept: readonly [Int32Array, Int32Array];
  readonly #old: Int32Array;
  readonly #now: Int32Array;
  readonly #marks: readonly [Marks, Marks];
  /** How far each diagonal was followed, from either end. */
  readonly #ahead: Int32Array;
  readonly #back: Int32Array;
  /** The place of diagonal 0. */
  readonly #zero: number;
  readonly #patience: number;
  #steps = 0;

  constructor(
    kept: readonly [Int32Array, Int32Array],
    [old, now]: readonly [Int32Array, Int32Array],
    marks: readonly [Marks, Marks],
  ) {
    this.#kept = kept;
    this.#old = kept[0].map((i) => old[i]!);
    this.#now = kept[1].map((i) => now[i]!);
    this.#marks = marks;
    const diagonals = this.#old.length + this.#now.length + 3;
    this.#ahead = new Int32Array(diagonals);
    this.#back = new Int32Array(diagonals);
    this.#zero = this.#now.length + 1;
    this.#patience = Math.max(roughRoot(diagonals), LEAST_PATIENCE);
  }

  run(): void {
    this.#compare({ left: 0, right: this.#old.length, top: 0, bottom: this.#now.length }, false);
  }

  #compare(whole: Box, mustBeSure: boolean): void {
    let { left, right, top, bottom } = whole;
    let isSure = mustBeSure;
    for (;;) {
      while (left < right && top < bottom && this.#old[left] === this.#now[top]) {
        left++;
        top++;
      }
      while (left < right && top < bottom && this.#old[right - 1] === this.#now[bottom - 1]) {
        right--;
        bottom--;
      }
      if (left === right || top === bottom || this.#steps > MOST_STEPS) break;
      const cut = this.#cut({ left, right, top, bottom }, isSure);
      this.#compare({ left, right: cut.x, top, bottom: cut.y }, cut.isSure[0]);
      [left, top, isSure] = [cut.x, cut.y, cut.isSure[1]];
    }
    for (let x = left; x < right; x++) this.#marks[0][this.#kept[0][x]!] = 1;
    for (let y = top; y < bottom; y++) this.#marks[1][this.#kept[1][y]!] = 1;
  }

  /** Goes from both ends until the ways meet, or patience ends. */
  #cut(box: Box, mustBeSure: boolean): Cut {
    const { left, right, top, bottom } = box;
    const [ahead, back, zero] = [this.#ahead, this.#back, this.#zero];
    const [first, last] = [left - bottom, right - top];
    const [start, goal] = [left - top, right - bottom];
    const meetsAhead = ((start - goal) & 1) !== 0;
    const [from, to] = [new Span(start, first, last), new Span(goal, first, last)];
    ahead[zero + start] = left;
    back[zero + goal] = right;
    for (let steps = 1;; steps++) {
      from.widen(ahead, zero, -1);
      for (let d = from.high; d >= from.low; d -= 2) {
        const at = zero + d;
        let x = ahead[at - 1]! >= ahead[at + 1]! ? ahead[at - 1]! + 1 : ahead[at + 1]!;
        while (x < right && x - d < bottom && this.#old[x] === this.#now[x - d]) x++;
        ahead[at] = x;
        if (meetsAhead && to.holds(d) && back[at]! <= x) return met(x, d);
      }
      to.widen(back, zero, FAR);
      for (let d = to.high; d >= to.low; d -= 2) {
        const at = zero + d;
        let x = back[at - 1]! < back[at + 1]! ? back[at - 1]! : back[at + 1]! - 1;
        while (x > left && x - d > top && this.#old[x - 1] === this.#now[x - d - 1]) x--;
        back[at] = x;
        if (!meetsAhead && from.holds(d) && x <= ahead[at]!) return met(x, d);
      }
      this.#steps += from.high - from.low + to.high - to.low;
      if (!mustBeSure && steps >= this.#patience) return this.#guess(box, from, to);
    }
  }

  /** Cuts where either way has come furthest. */
  #guess({ left, right, top, bottom }: Box, from: Span, to: Span): Cut {
    let [best, far] = [-1, -1];
    for (let d = from.high; d >= from.low; d -= 2) {
      let x = Math.min(this.#ahead[this.#zero + d]!, right);
      if (x - d > bottom) x = bottom + d;
      if (2 * x - d > far) [best, far] = [x, 2 * x - d];
    }
    let [worst, near] = [FAR, FAR];
    for (let d = to.high; d >= to.low; d -= 2) {
      let x = Math.max(this.#back[this.#zero + d]!, left);
      if (x - d < top) x = top + d;
      if (2 * x - d < near) [worst, near] = [x, 2 * x - d];
    }
    return right + bottom - near < far - left - top
      ? { x: best, y: far - best, isSure: [true, false] }
      : { x: worst, y: near - worst, isSure: [false, true] };
  }
}

/** The diagonals that were reached: every second one. */
class Span {
  low: number;
  high: number;
  readonly #first: number;
  readonly #last: number;

  constructor(start: number, first: number, last: number) {
    this.low = this.high = start;
    this.#first = first;
    this.#last = last;
  }

  /** Takes one more at each side, within the box; beyond lies what is never taken. */
  widen(reached: Int32Array, zero: number, never: number): void {
    if (this.low > this.#first) reached[zero + --this.low - 1] = never;
    else this.low++;
    if (this.high < this.#last) reached[zero + ++this.high + 1] = never;
    else this.high--;
  }

  holds(diagonal: number): boolean {
    return this.low <= diagonal && diagonal <= this.high;
  }
}

function met(x: number, diagonal: number): Cut {
  return { x, y: x - diagonal, isSure: [true, true] };
}
