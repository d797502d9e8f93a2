/** The phases of one sandbox, stacked, a bar for each system; the longest bar fills the width. */
import { chart, element, label } from "./svg.ts";

/** One system. */
export interface Bar {
  readonly name: string;
  readonly phases: readonly {
    readonly name: string;
    readonly ms: number;
    readonly color: string;
  }[];
}

const WIDTH = 460;
const LEFT = 92;
const RIGHT = 396;
const ROW = 28;

/** Draws it; each bar has a scale of its own where `isShare`, so that the shares can be compared. */
export function barChart(title: string, bars: readonly Bar[], isShare: boolean): string {
  const sums = bars.map(({ phases }) => phases.reduce((sum, { ms }) => sum + ms, 0));
  const longest = Math.max(...sums, Number.MIN_VALUE);
  const rows = bars.map(({ name, phases }, i) => {
    const y = i * ROW + 6;
    const scale = (RIGHT - LEFT) / Math.max(isShare ? sums[i]! : longest, Number.MIN_VALUE);
    let x = LEFT;
    const parts = phases.map(({ name: phase, ms, color }) => {
      const width = ms * scale;
      const box = { class: color, x, y, width, height: 18 };
      x += width;
      return element("rect", box, element("title", {}, `${phase}: ${ms.toFixed(2)} ms`));
    });
    return label(LEFT - 6, y + 13, name, "end") + parts.join("") +
      label(x + 5, y + 13, `${sums[i]!.toFixed(1)} ms`);
  });
  return chart({ width: WIDTH, height: bars.length * ROW + 6 }, title, ...rows);
}
