/** How times are spread: a dot a sample, a line from the least to the largest, the median marked. */
import { chart, element, label, logScale, tickText } from "./svg.ts";

/** One system. */
export interface SpreadLine {
  readonly name: string;
  readonly color: string;
  readonly samples: readonly number[];
  readonly median: number;
}

const WIDTH = 460;
const LEFT = 92;
const RIGHT = 448;
const ROW = 24;

/** More dots than this cannot be told apart. */
const MOST_DOTS = 120;

/** Draws it. */
export function spreadChart(title: string, lines: readonly SpreadLine[]): string {
  const x = logScale(lines.flatMap(({ samples }) => samples), [LEFT, RIGHT]);
  const bottom = lines.length * ROW + 4;
  const rows = lines.map(({ name, color, samples, median }, i) => {
    const y = i * ROW + 14;
    const sorted = samples.toSorted((a, b) => a - b);
    const step = Math.max(1, (sorted.length - 1) / (MOST_DOTS - 1));
    const dots = Array.from(
      { length: Math.min(sorted.length, MOST_DOTS) },
      (_, at) =>
        element("circle", { class: "dot", cx: x.at(sorted[Math.round(at * step)]!), cy: y, r: 3 }),
    );
    const ends = { x1: x.at(sorted[0]!), x2: x.at(sorted.at(-1)!), y1: y, y2: y };
    const middle = { class: "median", x1: x.at(median), x2: x.at(median), y1: y - 8, y2: y + 8 };
    return label(LEFT - 6, y + 4, name, "end") + element(
      "g",
      { class: `line ${color}` },
      element("line", ends),
      ...dots,
      element("line", middle),
    );
  });
  const ticks = x.ticks.map((ms) =>
    element("line", { class: "grid", x1: x.at(ms), x2: x.at(ms), y1: 2, y2: bottom }) +
    label(x.at(ms), bottom + 14, tickText(ms), "middle")
  );
  return chart({ width: WIDTH, height: bottom + 20 }, title, ...ticks, ...rows);
}
