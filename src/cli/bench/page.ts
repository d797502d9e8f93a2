/** What was measured as one page that needs nothing beside it, no script either. */
import { type BenchReport, type Measure, OURS, type Row } from "../../app/bench/measure.ts";
import { PAPER_MACHINE, PAPER_PHASES, PAPER_PREPARATION } from "../../app/bench/paper.ts";
import { type Bar, barChart } from "./bar_chart.ts";
import { type Line, lineChart } from "./line_chart.ts";
import { toRatioText, toText } from "./number.ts";
import { spreadChart } from "./spread_chart.ts";
import { STYLE } from "./style.ts";
import { colorOf, element, escape } from "./svg.ts";
import { titleOf } from "./table.ts";

/** The lines that are not of this machine. */
const FOREIGN = { docker: "Docker, paper", published: "published, paper" } as const;

/** Makes the page. */
export function toPage(report: BenchReport): string {
  const names = [
    ...report.peers.map(({ name }) => name),
    ...Object.values(FOREIGN),
  ];
  const color = (name: string) => colorOf(Math.max(0, names.indexOf(name)));
  const body = [
    element("h1", {}, "minisandbox, measured"),
    element("p", { class: "faint" }, escape(`${report.date}, version ${report.version}`)),
    ...report.warnings.map((text) => element("p", { class: "warning" }, escape(text))),
    ...crowdSection(report.measures, color),
    ...phaseSection(report.measures),
    ...spreadSection(report.measures, color),
    ...tableSection(report.measures),
    ...paperSection(),
    ...methodSection(report),
  ].join("\n");
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>minisandbox, measured</title><style>${STYLE}</style></head>
<body>
${body}
</body></html>
`;
}

type Color = (name: string) => string;

function crowdSection(measures: readonly Measure[], color: Color): string[] {
  const figures = ["prepare", "start"].flatMap((name) => {
    const all = measures.filter((it) =>
      it.case === name && it.name === "all of them" && it.cache === "warm"
    );
    if (all.length === 0) return [];
    const lines = [...toLines(all, color), ...(name === "prepare" ? paperLines(color) : [])];
    const title = `${name}: time until all are ready, by number of sandboxes`;
    return [figure(title, lineChart(title, lines), lines)];
  });
  if (figures.length === 0) return [];
  return [
    element("h2", {}, "Many sandboxes at once"),
    element(
      "p",
      {},
      "Both axes are logarithmic; the bars at a point go from the least to the " +
        "largest. Dashed lines are the paper's own numbers, on its hardware.",
    ),
    element("div", { class: "charts" }, ...figures),
  ];
}

function toLines(measures: readonly Measure[], color: Color): Line[] {
  const names = [...new Set(measures.flatMap(({ rows }) => rows.map(({ peer }) => peer)))];
  return names.map((name) => ({
    name,
    color: color(name),
    isForeign: false,
    points: measures.flatMap(({ count, rows }) =>
      rows.filter(({ peer }) => peer === name).map(({ spread: { median, min, max } }) => ({
        ...{ count, ms: median, minMs: min, maxMs: max },
      }))
    ),
  }));
}

function paperLines(color: Color): Line[] {
  return (["docker", "published"] as const).map((key) => ({
    name: FOREIGN[key],
    color: color(FOREIGN[key]),
    isForeign: true,
    points: PAPER_PREPARATION.map((row) => {
      const ms = row[key] * 1000;
      return { count: row.count, ms, minMs: ms, maxMs: ms };
    }),
  }));
}

/** One sandbox alone, and the most at once: where the time goes. */
function phaseSection(measures: readonly Measure[]): string[] {
  const all = measures.filter((it) =>
    it.name === "all of them" && it.rows.some(({ phases }) => Object.keys(phases).length > 0)
  );
  const figures = ["prepare", "start"].flatMap((name) => {
    const own = all.filter((it) => it.case === name && it.cache === "warm");
    const ends = [...new Set([own[0], own.at(-1)])].filter((it) => it !== undefined);
    return ends.map((measure) => phaseFigure(measure));
  });
  if (figures.length === 0) return [];
  return [
    element("h2", {}, "Where the time goes"),
    element("p", {}, "The mean of each phase of one sandbox. Waiting for a processor counts."),
    element("div", { class: "charts" }, ...figures),
  ];
}

function phaseFigure(measure: Measure): string {
  const names = [...new Set(measure.rows.flatMap(({ phases }) => Object.keys(phases)))];
  const colors = names.map((name, i) => ({ name, color: colorOf(i) }));
  const bars: Bar[] = measure.rows.map(({ peer, phases }) => ({
    name: peer,
    phases: colors.map(({ name, color }) => ({ name, color, ms: phases[name] ?? 0 })),
  }));
  const title = `${measure.case} ${measure.count}: phases of one sandbox`;
  return figure(title, barChart(title, bars, false), colors);
}

function spreadSection(measures: readonly Measure[], color: Color): string[] {
  const figures = measures
    .filter(({ unit, name, count }) => unit === "ms" && (count === 1 || name === "each of them"))
    .map((measure) => {
      const lines = measure.rows.map(({ peer, samples, spread: { median } }) => ({
        ...{ name: peer, color: color(peer), samples, median },
      }));
      return figure(titleOf(measure), spreadChart(titleOf(measure), lines), []);
    });
  if (figures.length === 0) return [];
  return [
    element("h2", {}, "How times are spread"),
    element("p", {}, "A dot is a sample, the thick mark the median; the axis is logarithmic."),
    element("div", { class: "charts" }, ...figures),
  ];
}

function tableSection(measures: readonly Measure[]): string[] {
  return [
    element("h2", {}, "All numbers"),
    element(
      "p",
      {},
      `The ratio is ${OURS}'s to the row's: below 1 it is better. It stands with ` +
        "the interval that holds it in 95 of 100 resamplings.",
    ),
    ...measures.map((measure) =>
      element("h3", {}, escape(titleOf(measure))) + measureRows(measure.rows, measure.unit)
    ),
  ];
}

function measureRows(rows: readonly Row[], unit: Measure["unit"]): string {
  return table(
    ["", "median", "min", "max", "samples", "ours to it"],
    rows.map(({ peer, spread: { median, min, max }, samples, ratio }) => [
      peer,
      ...[median, min, max].map((value) => toText(value, unit)),
      String(samples.length),
      toRatioText(ratio),
    ]),
  );
}

function paperSection(): string[] {
  const seconds = (value: number) => `${value.toFixed(2)} s`;
  return [
    element("h2", {}, "What the paper says"),
    element(
      "p",
      {},
      escape(
        `Of the published system and Docker (arXiv 2602.11210), on its hardware: ${PAPER_MACHINE}. ` +
          "Not measured here; the row untar of this page is its recipe on this machine.",
      ),
    ),
    table(
      ["environments", "Docker", "published system"],
      PAPER_PREPARATION.map(({ count, docker, published }) => [
        ...[String(count), seconds(docker), seconds(published)],
      ]),
    ),
    element(
      "p",
      { class: "faint" },
      "Its preparation: " +
        Object.entries(PAPER_PHASES).map(([name, share]) => `${name} ${share} %`).join(", ") + ".",
    ),
  ];
}

function methodSection(
  { machine, peers, skipped, command }: BenchReport,
): string[] {
  const facts = Object.entries(machine).map(([name, value]) => [name, String(value)]);
  return [
    element("h2", {}, "How it was measured"),
    element(
      "p",
      {},
      "All systems take turns, each going first in its turn. All start the same " +
        "bash and are asked the same questions through pipes; every answer is compared, and a wrong " +
        "one ends the bench. What is made once for all sandboxes is made before.",
    ),
    element("pre", {}, escape(command)),
    table(["machine", ""], facts, "words"),
    table(
      ["system", "version", "what it does"],
      peers.map(({ name, version, what }) => [name, version ?? "–", what]),
      "words",
    ),
    ...(skipped.length === 0
      ? []
      : [table(["skipped", "why"], skipped.map(({ peer, reason }) => [peer, reason]), "words")]),
  ];
}

function figure(
  title: string,
  svg: string,
  legend: readonly { readonly name: string; readonly color: string }[],
): string {
  const items = legend.map(({ name, color }) =>
    element("li", {}, element("span", { class: `swatch ${color}` }) + escape(name))
  );
  const list = items.length === 0 ? "" : element("ul", { class: "legend" }, ...items);
  return element("figure", {}, element("figcaption", {}, escape(title)), svg, list);
}

function table(
  heads: readonly string[],
  rows: readonly (readonly string[])[],
  style = "",
): string {
  const line = (tag: string, cells: readonly string[]) => {
    const isOurs = cells[0] === OURS ? { class: "ours" } : {};
    return element("tr", isOurs, ...cells.map((cell) => element(tag, {}, escape(cell))));
  };
  const all = line("th", heads) + rows.map((row) => line("td", row)).join("");
  return element("div", { class: `table ${style}`.trim() }, element("table", {}, all));
}
