/** The little of SVG that our charts need, with axes. */

/** Text in a document. */
export function escape(text: string): string {
  const entities: Record<string, string> = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
  };
  return text.replace(/[&<>"]/g, (character) => entities[character]!);
}

/** One element; its content is SVG or HTML already. */
export function element(
  name: string,
  attributes: Readonly<Record<string, string | number>>,
  ...content: readonly string[]
): string {
  const all = Object.entries(attributes).map(([key, value]) =>
    ` ${key}="${escape(typeof value === "number" ? String(Math.round(value * 10) / 10) : value)}"`
  );
  return `<${name}${all.join("")}>${content.join("")}</${name}>`;
}

/** Text at a place. */
export function label(
  x: number,
  y: number,
  text: string,
  anchor: "start" | "middle" | "end" = "start",
): string {
  return element("text", { x, y, "text-anchor": anchor }, escape(text));
}

/** A chart that a reader who does not see it is told of. */
export function chart(
  size: { readonly width: number; readonly height: number },
  title: string,
  ...content: readonly string[]
): string {
  const { width, height } = size;
  const box = { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title };
  return element("svg", box, element("title", {}, escape(title)), ...content);
}

/** Places values on a line. */
export interface Scale {
  readonly at: (value: number) => number;
  readonly ticks: readonly number[];
}

/** A scale on which equal steps multiply; its ticks are powers of ten, or of two. */
export function logScale(
  values: readonly number[],
  [from, to]: readonly [number, number],
  base: 2 | 10 = 10,
): Scale {
  const log = (value: number) => Math.log(value) / Math.log(base);
  const positive = values.filter((value) => value > 0 && Number.isFinite(value));
  const low = Math.floor(log(Math.min(...positive)) + 1e-9);
  const high = Math.max(low + 1, Math.ceil(log(Math.max(...positive)) - 1e-9));
  const at = (value: number) => from + (log(value) - low) / (high - low) * (to - from);
  return { at, ticks: Array.from({ length: high - low + 1 }, (_, i) => base ** (low + i)) };
}

/** Shows milliseconds in a word that fits at an axis. */
export function tickText(ms: number): string {
  if (ms >= 1000) return `${ms / 1000} s`;
  return ms >= 1 ? `${ms} ms` : `${Math.round(ms * 1000)} µs`;
}

/** The class that gives a system its colour, by its place among those that the bench knows. */
export function colorOf(index: number): string {
  return `c${index % 10}`;
}
