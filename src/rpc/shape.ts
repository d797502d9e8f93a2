/** Bounds on what JSON text may hold, seen before it is parsed: a short text can be large in memory. */

/** How deep arrays and objects may lie in one another. */
export const MAX_DEPTH = 100;

/** How many values a message may hold, about. */
export const MAX_VALUES = 1 << 20;

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;

/** `[` and `{`, `]` and `}` differ in this bit alone. */
const BRACE_BIT = 0x20;
const OPEN = 0x5b;
const CLOSE = 0x5d;

/**
 * Looks at brackets and commas outside strings, in linear time. Text that is no JSON may pass.
 *
 * @returns What is too much in it; null if it can be parsed.
 */
export function findShapeFault(text: string): string | null {
  let depth = 0;
  let values = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfString(text, at);
    } else if (code === COMMA) {
      values++;
    } else if ((code & ~BRACE_BIT) === OPEN) {
      values++;
      if (++depth > MAX_DEPTH) return `it is nested deeper than ${MAX_DEPTH}`;
    } else if ((code & ~BRACE_BIT) === CLOSE) {
      depth--;
    }
  }
  return values > MAX_VALUES ? `it holds more than ${MAX_VALUES} values` : null;
}

/** Gives where the closing quote is, or the end of the text. */
function endOfString(text: string, start: number): number {
  for (let end = start;;) {
    end = text.indexOf('"', end + 1);
    if (end < 0) return text.length;
    let first = end;
    while (text.charCodeAt(first - 1) === BACKSLASH) first--;
    if ((end - first) % 2 === 0) return end;
  }
}
