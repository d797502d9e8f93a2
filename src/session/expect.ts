/** Finds what was expected in what a program printed. */

type Bytes = Uint8Array<ArrayBuffer>;

/** Literal text, or a regular expression. */
export type Pattern = string | RegExp;

/** What was found. */
export interface Match {
  /** The pattern's place in the list. */
  readonly index: number;
  /** Where it begins and ends, in bytes. */
  readonly start: number;
  readonly end: number;
}

/** Regular expressions look at so much of the end: more would be read again with each piece. */
const WINDOW_BYTES = 64 * 1024;

/** Finds the first place where a pattern matches; of several there, the first in the list. */
export function findMatch(bytes: Bytes, patterns: readonly Pattern[]): Match | null {
  const found = patterns.map((pattern, index) => {
    const range = typeof pattern === "string"
      ? findLiteral(bytes, pattern)
      : findExpression(bytes, pattern);
    return range === null ? null : { index, ...range };
  });
  return found.filter((match) => match !== null)
    .toSorted((a, b) => a.start - b.start || a.index - b.index)[0] ?? null;
}

type Range = Omit<Match, "index">;

function findLiteral(bytes: Bytes, text: string): Range | null {
  const wanted = new TextEncoder().encode(text);
  if (wanted.length === 0) return { start: 0, end: 0 };
  for (let at = bytes.indexOf(wanted[0]!); at >= 0; at = bytes.indexOf(wanted[0]!, at + 1)) {
    if (wanted.every((byte, i) => bytes[at + i] === byte)) {
      return { start: at, end: at + wanted.length };
    }
  }
  return null;
}

/** Text is decoded if it is UTF-8; else each byte stands for the character of its number. */
function findExpression(bytes: Bytes, pattern: RegExp): Range | null {
  const from = Math.max(0, bytes.length - WINDOW_BYTES);
  const window = bytes.subarray(from);
  const text = decode(window);
  const flags = pattern.flags.replaceAll(/[gy]/g, "");
  const match = new RegExp(pattern.source, flags).exec(text ?? toCharacters(window));
  if (match === null) return null;
  const toBytes = (count: number) =>
    text === null ? count : new TextEncoder().encode(text.slice(0, count)).length;
  const start = toBytes(match.index);
  return { start: from + start, end: from + toBytes(match.index + match[0].length) };
}

function toCharacters(bytes: Bytes): string {
  return Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
}

/** Null if it is not UTF-8; a character that has only begun, may end in the next piece. */
function decode(bytes: Bytes): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes, {
      stream: true,
    });
  } catch {
    return null;
  }
}
