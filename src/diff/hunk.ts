/** The lines of two texts compared, as the hunks of a patch. */
import { structuredPatch } from "diff";

const CONTEXT = 3;

/** Texts that differ in more lines are told as wholly replaced: finding what they share takes long. */
const MAX_EDITS = 1500;

/** What git shows of a function's head at most. */
const HEADING_BYTES = 80;

const NO_END = "\\ No newline at end of file";

interface Hunk {
  readonly oldStart: number;
  readonly oldLines: number;
  readonly newStart: number;
  readonly newLines: number;
  readonly lines: readonly string[];
}

/** Writes the hunks of two texts, of one character a byte. */
export function toHunks(before: string, after: string): string {
  const patch = structuredPatch("", "", before, after, "", "", {
    context: CONTEXT,
    maxEditLength: MAX_EDITS,
  });
  const hunks: readonly Hunk[] = patch?.hunks ?? [replaceAll(before, after)];
  const old = before.split("\n");
  return hunks.map((hunk) => showHunk(hunk, old)).join("");
}

function showHunk({ oldStart, oldLines, newStart, newLines, lines }: Hunk, old: string[]): string {
  const from = range(oldStart, oldLines);
  const to = range(newStart, newLines);
  const heading = headingOf(old, oldStart - 1);
  return `@@ -${from} +${to} @@${heading}\n${lines.join("\n")}\n`;
}

/** Where nothing is, git names the line before. */
function range(start: number, lines: number): string {
  if (lines === 1) return `${start}`;
  return lines === 0 ? `${start - 1},0` : `${start},${lines}`;
}

/** The last line before a hunk that looks like the head of a function, as git finds it. */
function headingOf(old: readonly string[], count: number): string {
  for (let i = Math.min(count, old.length) - 1; i >= 0; i--) {
    const line = old[i]!;
    if (/^[A-Za-z_$]/.test(line)) return ` ${line.slice(0, HEADING_BYTES).trimEnd()}`;
  }
  return "";
}

/** One hunk for all lines between those that both begin and end with. */
function replaceAll(before: string, after: string): Hunk {
  const [old, now] = [toLines(before), toLines(after)];
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start++;
  let end = 0;
  while (
    end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end)
  ) end++;
  const lead = Math.min(start, CONTEXT);
  const tail = Math.min(end, CONTEXT);
  const oldLines = old.slice(start - lead, old.length - end + tail);
  const newLines = now.slice(start - lead, now.length - end + tail);
  const shown = (lines: readonly string[], mark: string) =>
    lines.flatMap((line) => show(line, mark));
  return {
    oldStart: start - lead + 1,
    oldLines: oldLines.length,
    newStart: start - lead + 1,
    newLines: newLines.length,
    lines: [
      ...shown(old.slice(start - lead, start), " "),
      ...shown(old.slice(start, old.length - end), "-"),
      ...shown(now.slice(start, now.length - end), "+"),
      ...shown(old.slice(old.length - end, old.length - end + tail), " "),
    ],
  };
}

/** Lines with their ends. */
function toLines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

function show(line: string, mark: string): string[] {
  return line.endsWith("\n") ? [mark + line.slice(0, -1)] : [mark + line, NO_END];
}
