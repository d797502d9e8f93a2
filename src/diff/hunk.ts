/** The lines of two texts compared, as the hunks of a patch. */
import { type Lines, toLines } from "./line.ts";
import { findChanges, type Marks } from "./script.ts";

const CONTEXT = 3;

/** What git shows of a function's head at most. */
const HEADING_BYTES = 80;

const NO_END = "\\ No newline at end of file\n";

/** Lines that were replaced by others, from one index up to another in either text. */
interface Change {
  readonly oldStart: number;
  readonly oldEnd: number;
  readonly nowStart: number;
  readonly nowEnd: number;
}

/** Writes the hunks of two texts, of one character a byte. */
export function toHunks(before: string, after: string): string {
  const [old, now] = toLines(before, after);
  const changes = listChanges(...findChanges(old, now));
  return inHunks(changes).map((hunk) => showHunk(hunk, old, now)).join("");
}

function listChanges(old: Marks, now: Marks): Change[] {
  const changes: Change[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    const [oldStart, nowStart] = [i, j];
    while (old[i] === 1) i++;
    while (now[j] === 1) j++;
    if (i > oldStart || j > nowStart) {
      changes.push({ oldStart, oldEnd: i, nowStart, nowEnd: j });
    }
    i++;
    j++;
  }
  return changes;
}

/** Those whose contexts touch are shown as one. */
function inHunks(changes: readonly Change[]): Change[][] {
  const hunks: Change[][] = [];
  for (const change of changes) {
    const last = hunks.at(-1);
    const end = last?.at(-1)?.oldEnd ?? -Infinity;
    if (last !== undefined && change.oldStart - end <= 2 * CONTEXT) last.push(change);
    else hunks.push([change]);
  }
  return hunks;
}

function showHunk(changes: readonly Change[], old: Lines, now: Lines): string {
  const [first, last] = [changes[0]!, changes.at(-1)!];
  const lead = Math.min(first.oldStart, CONTEXT);
  const tail = Math.min(old.texts.length - last.oldEnd, CONTEXT);
  const [from, to] = [first.oldStart - lead, last.oldEnd + tail];
  let text = `@@ -${range(from, to)} +${range(first.nowStart - lead, last.nowEnd + tail)} @@` +
    `${headingOf(old.texts, from)}\n`;
  let at = from;
  for (const { oldStart, oldEnd, nowStart, nowEnd } of changes) {
    text += show(" ", old.texts.slice(at, oldStart));
    text += show("-", old.texts.slice(oldStart, oldEnd));
    text += show("+", now.texts.slice(nowStart, nowEnd));
    at = oldEnd;
  }
  return text + show(" ", old.texts.slice(at, to));
}

/** Where nothing is, git names the line before. */
function range(start: number, end: number): string {
  if (end - start === 1) return `${start + 1}`;
  return start === end ? `${start},0` : `${start + 1},${end - start}`;
}

/** The last line before a hunk that looks like the head of a function, as git finds it. */
function headingOf(old: readonly string[], count: number): string {
  for (let i = count - 1; i >= 0; i--) {
    const line = old[i]!;
    if (/^[A-Za-z_$]/.test(line)) {
      return ` ${line.slice(0, HEADING_BYTES).replace(/[ \t\n\v\f\r]+$/, "")}`;
    }
  }
  return "";
}

function show(mark: string, lines: readonly string[]): string {
  return lines.map((line) => mark + (line.endsWith("\n") ? line : `${line}\n${NO_END}`)).join("");
}
