/**
 * Moves groups of changed lines to where a reader expects them. Where a group begins and ends can often
 * be chosen: a line before it is the same as its last. As git does, it goes by the other text's
 * changes, else by blank lines and indentation (git-config(1), diff.indentHeuristic).
 */
import type { Lines } from "./line.ts";
import type { Marks } from "./script.ts";

/** A run of changed lines, or the place between two that are not. */
class Group {
  start = 0;
  end = 0;
  readonly #ids: Int32Array | null;
  readonly #marks: Marks;
  readonly #length: number;

  /** The first one. @param ids Of the lines, if it is to be moved. */
  constructor(marks: Marks, ids: Int32Array | null = null) {
    this.#ids = ids;
    this.#marks = marks;
    this.#length = marks.length - 1;
    this.#grow();
  }

  get isEmpty(): boolean {
    return this.start === this.end;
  }

  /** Goes to the next one; false if there is none. */
  next(): boolean {
    if (this.end === this.#length) return false;
    this.start = this.end = this.end + 1;
    this.#grow();
    return true;
  }

  previous(): void {
    this.start = this.end = this.start - 1;
    this.#reachBack();
  }

  /** Moves up by a line, and takes in a group that it meets; false if it cannot. */
  moveUp(): boolean {
    const ids = this.#ids!;
    if (this.start === 0 || ids[this.start - 1] !== ids[this.end - 1]) return false;
    this.#marks[--this.start] = 1;
    this.#marks[--this.end] = 0;
    this.#reachBack();
    return true;
  }

  /** Moves down by a line, as `moveUp`. */
  moveDown(): boolean {
    const ids = this.#ids!;
    if (this.end === this.#length || ids[this.start] !== ids[this.end]) return false;
    this.#marks[this.start++] = 0;
    this.#marks[this.end++] = 1;
    this.#grow();
    return true;
  }

  #grow(): void {
    while (this.#marks[this.end] === 1) this.end++;
  }

  #reachBack(): void {
    while (this.start > 0 && this.#marks[this.start - 1] === 1) this.start--;
  }
}

/** Moves the groups of one text. @param beside The marks of the other. */
export function alignGroups(lines: Lines, marks: Marks, beside: Marks): void {
  const group = new Group(marks, lines.ids);
  const other = new Group(beside);
  do {
    if (!group.isEmpty) align(lines, group, other);
    other.next();
  } while (group.next());
}

function align({ texts }: Lines, group: Group, other: Group): void {
  let length: number;
  let highest: number;
  /** The lowest end at which the other text has a change at the same place. */
  let besideChange: number;
  do {
    length = group.end - group.start;
    while (group.moveUp()) other.previous();
    highest = group.end;
    besideChange = other.isEmpty ? -1 : group.end;
    while (group.moveDown()) {
      other.next();
      if (!other.isEmpty) besideChange = group.end;
    }
  } while (length !== group.end - group.start); // it took others in
  if (group.end === highest) return;
  const wanted = besideChange === -1 ? bestEnd(texts, group, highest) : besideChange;
  while (group.end > wanted) {
    group.moveUp();
    other.previous();
  }
}

/** So far a group is moved for its looks. */
const MOST_MOVES = 100;

function bestEnd(texts: readonly string[], { start, end }: Group, highest: number): number {
  const length = end - start;
  let best: { readonly at: number; readonly cost: Cost } | null = null;
  for (let at = Math.max(highest, end - length - 1, end - MOST_MOVES); at <= end; at++) {
    const cost = add(costOf(texts, at), costOf(texts, at - length));
    if (best === null || isAsGood(cost, best.cost)) best = { at, cost };
  }
  return best!.at;
}

/** How ill it looks to begin or end a group somewhere. */
interface Cost {
  readonly indent: number;
  readonly penalty: number;
}

function add(a: Cost, b: Cost): Cost {
  return { indent: a.indent + b.indent, penalty: a.penalty + b.penalty };
}

function isAsGood(one: Cost, other: Cost): boolean {
  const indent = Math.sign(one.indent - other.indent);
  return PENALTY.indent * indent + one.penalty - other.penalty <= 0;
}

/** Those that git found by looking at the choices of people. */
const PENALTY = {
  indent: 60,
  atStart: 1,
  atEnd: 21,
  blank: -30,
  blankAfter: 6,
  deeper: { plain: -4, byBlank: 10 },
  between: { plain: 24, byBlank: 17 },
  shallower: { plain: 23, byBlank: 17 },
} as const;

/** So many blank lines are looked over. */
const MOST_BLANK = 20;

function costOf(texts: readonly string[], at: number): Cost {
  const own = at < texts.length ? indentOf(texts[at]!) : null;
  const before = lookOver(texts, at, -1);
  const after = lookOver(texts, at, 1);
  const blankAfter = own === null ? 1 + after.blank : 0;
  const blank = before.blank + blankAfter;
  const indent = own ?? after.indent;
  let penalty = PENALTY.blank * blank + PENALTY.blankAfter * blankAfter;
  if (at >= texts.length) penalty += PENALTY.atEnd;
  if (before.indent === null && before.blank === 0) penalty += PENALTY.atStart;
  if (indent !== null && before.indent !== null && indent !== before.indent) {
    const kind = indent > before.indent
      ? PENALTY.deeper
      : after.indent !== null && after.indent > indent
      ? PENALTY.between
      : PENALTY.shallower;
    penalty += blank > 0 ? kind.byBlank : kind.plain;
  }
  return { indent: indent ?? -1, penalty };
}

/** The indentation of the next line that is not blank, and how many lie before it. */
function lookOver(
  texts: readonly string[],
  from: number,
  step: 1 | -1,
): { readonly indent: number | null; readonly blank: number } {
  let blank = 0;
  for (let i = from + step; i >= 0 && i < texts.length; i += step) {
    const indent = indentOf(texts[i]!);
    if (indent !== null) return { indent, blank };
    if (++blank === MOST_BLANK) return { indent: 0, blank };
  }
  return { indent: null, blank };
}

const MOST_INDENT = 200;
const TAB = 8;

/** Columns before the first character; null for a blank line. */
function indentOf(line: string): number | null {
  let column = 0;
  for (const character of line) {
    if (!/[ \t\n\v\f\r]/.test(character)) return column;
    if (character === " ") column++;
    if (character === "\t") column += TAB - column % TAB;
    if (column >= MOST_INDENT) return MOST_INDENT;
  }
  return null;
}
