/** A time against the number of sandboxes, a line for each system, both axes logarithmic. */
import { chart, element, label, logScale, tickText } from "./svg.ts";

/** One system. */
export interface Line {
  readonly name: string;
  readonly color: string;
  /** Whether it was measured elsewhere. */
  readonly isForeign: boolean;
  readonly points: readonly {
    readonly count: number;
    readonly ms: number;
    readonly minMs: number;
    readonly maxMs: number;
  }[];
}

const SIZE = { width: 460, height: 320 };
const BOX = { left: 52, right: 450, top: 12, bottom: 282 };

/** Draws it. */
export function lineChart(title: string, lines: readonly Line[]): string {
  const points = lines.flatMap((line) => line.points);
  const x = logScale(points.map(({ count }) => count), [BOX.left, BOX.right], 2);
  const y = logScale(points.flatMap(({ minMs, maxMs }) => [minMs, maxMs]), [BOX.bottom, BOX.top]);
  const counts = [...new Set(points.map(({ count }) => count))];
  return chart(
    SIZE,
    title,
    ...y.ticks.map((ms) => {
      const at = y.at(ms);
      const line = { class: "grid", x1: BOX.left, x2: BOX.right, y1: at, y2: at };
      return element("line", line) + label(BOX.left - 5, at + 4, tickText(ms), "end");
    }),
    ...counts.map((count) => label(x.at(count), BOX.bottom + 16, String(count), "middle")),
    label((BOX.left + BOX.right) / 2, BOX.bottom + 33, "sandboxes", "middle"),
    ...lines.map((line) => drawLine(line, x.at, y.at)),
  );
}

function drawLine(
  { name, color, isForeign, points }: Line,
  x: (count: number) => number,
  y: (ms: number) => number,
): string {
  const path = points.map(({ count, ms }) => `${x(count).toFixed(1)},${y(ms).toFixed(1)}`);
  const marks = points.map(({ count, ms, minMs, maxMs }) => {
    const range = { x1: x(count), x2: x(count), y1: y(minMs), y2: y(maxMs), class: "range" };
    const title = element("title", {}, `${name}, ${count}: ${tickText(Math.round(ms * 10) / 10)}`);
    return element("line", range) + element("circle", { cx: x(count), cy: y(ms), r: 3.2 }, title);
  });
  const attributes = { class: `line ${color}${isForeign ? " foreign" : ""}` };
  return element("g", attributes, element("polyline", { points: path.join(" ") }), ...marks);
}
