/** Tests of the tables and of the page of a bench. */
import { assert, assertEquals, assertFalse, assertMatch, assertStringIncludes } from "@std/assert";
import { toMeasure } from "../../src/app/bench/measure.ts";
import { toRatioText, toText } from "../../src/cli/bench/number.ts";
import { toPage } from "../../src/cli/bench/page.ts";
import { BenchProgress } from "../../src/cli/bench/progress.ts";
import { logScale, tickText } from "../../src/cli/bench/svg.ts";
import { measureTable, reportFoot } from "../../src/cli/bench/table.ts";
import { ifInstalled } from "../support/requirement.ts";
import { benchReport } from "../support/bench_report.ts";
import { tempDir } from "../support/temp_dir.ts";

Deno.test("a measure is a table of markdown", () => {
  const measure = toMeasure(
    { case: "prepare", name: "all of them", count: 64, cache: "cold", unit: "ms" },
    [
      { peer: "minisandbox", samples: [1500], phases: { create: 1.25 } },
      { peer: "bare", samples: [3000], phases: { create: 2 } },
    ],
  );
  assertEquals(measureTable(measure).split("\n"), [
    "| prepare 64, cold: all of them | median |    min |    max | n | ours to it (95 %)       | phases, ms |",
    "|-------------------------------|-------:|-------:|-------:|--:|-------------------------|------------|",
    "| minisandbox                   | 1.50 s | 1.50 s | 1.50 s | 1 |                         | create 1.3 |",
    "| bare                          | 3.00 s | 3.00 s | 3.00 s | 1 | 0.500x (0.500 to 0.500) | create 2.0 |",
  ]);
});

Deno.test("numbers have three digits or so", () => {
  assertEquals(
    [0.1234, 1.234, 12.34, 123.4, 1234].map((ms) => toText(ms, "ms")),
    ["0.123 ms", "1.23 ms", "12.3 ms", "123 ms", "1.23 s"],
  );
  assertEquals([toText(850_000, "bytes"), toText(4, "number")], ["850 kB", "4.00"]);
  assertEquals(toRatioText({ value: NaN, low: NaN, high: NaN }), "–");
});

Deno.test("below the tables stand machine, systems, those skipped, and that it was busy", () => {
  const foot = reportFoot(benchReport());
  assertStringIncludes(foot, "skipped: crun: not installed\nwarning: busy machine");
  assertStringIncludes(foot, "bare (–): nothing\n");
});

Deno.test("a scale has powers around its values as ticks", () => {
  const scale = logScale([3, 200], [0, 300]);
  assertEquals(scale.ticks, [1, 10, 100, 1000]);
  assertEquals([1, 1000].map((value) => Math.round(scale.at(value))), [0, 300]);
  assertEquals(logScale([5, 5], [0, 1]).ticks, [1, 10]);
  assertEquals([0.01, 0.1, 10, 1000].map(tickText), ["10 µs", "100 µs", "10 ms", "1 s"]);
});

Deno.test("progress is a line that is drawn anew on a terminal, elsewhere a line a case", () => {
  const turn = { case: "start", what: "16", peer: "bwrap", done: 1, total: 4 };
  const shown = (isTerminal: boolean) => {
    let text = "";
    {
      using progress = new BenchProgress({
        ...{ isTerminal, isQuiet: false, isPlain: true, columns: 60 },
        write: (piece) => text += piece,
      });
      progress.turn(turn);
      progress.turn({ ...turn, done: 2 });
    }
    return text;
  };
  assertEquals(shown(false), "minisandbox: measuring start 16\n");
  assertEquals(
    shown(true),
    "████░░░░░░░░░░░░ start 16: bwrap, turn 2 of 4, 0 s\r\x1b[K" +
      "████████░░░░░░░░ start 16: bwrap, turn 3 of 4, 0 s\r\x1b[K",
  );
});

Deno.test("the page is one sound document that needs nothing beside it", () => {
  const page = toPage(benchReport());
  assertBalanced(page);
  assertFalse(/<script|<link|<img|@import|url\(|https?:/.test(page));
  assertStringIncludes(page, "--scratch '/&lt;script&gt;&amp;'");
  assertFalse(/NaN|undefined|Infinity/.test(page));
  const charts = page.match(/<svg [^>]*role="img" aria-label="[^"]+"><title>/g) ?? [];
  assertEquals(charts.length, page.split("<svg").length - 1);
  assertEquals(charts.length, 8); // a curve, two of phases, five of spreads
  for (const rule of ["prefers-color-scheme:dark", "@media print"]) {
    assertStringIncludes(page, rule);
  }
  assertMatch(page, /<meta name="viewport" content="width=device-width/);
});

Deno.test("the page says what is the paper's, and where a time was not taken here", () => {
  const page = toPage(benchReport());
  for (const text of ["116.25 s", "on its hardware: 184 cores", "Not measured here"]) {
    assertStringIncludes(page, text);
  }
  assertEquals(page.match(/class="line c\d foreign"/g)?.length, 2);
});

Deno.test("the page fits a phone and a desk in chromium", ifInstalled("chromium"), async () => {
  using dir = tempDir();
  // The page itself has no script: the copy has one, which tells how wide things are.
  const probe = `<script>document.title = JSON.stringify({
    wide: document.documentElement.scrollWidth, room: innerWidth,
    texts: [...document.querySelectorAll("svg text")].filter((it) => {
      const { left, right } = it.getBoundingClientRect();
      return left < 0 || right > innerWidth;
    }).length,
    charts: [...document.querySelectorAll("svg")].filter((it) => it.clientHeight > 50).length,
  })</script></body>`;
  const path = `${dir.path}/page.html`;
  await Deno.writeTextFile(path, toPage(benchReport()).replace("</body>", probe));
  for (const width of [500, 1200]) { // a window of chromium is not narrower
    const { stdout } = await new Deno.Command("chromium", {
      args: [
        ...["--headless", "--no-sandbox", "--disable-gpu", `--window-size=${width},800`],
        ...[`--user-data-dir=${dir.path}/profile`, "--dump-dom", `file://${path}`],
      ],
      stderr: "null",
    }).output();
    const [, title = ""] = /<title>(\{.*?\})<\/title>/.exec(new TextDecoder().decode(stdout)) ?? [];
    const { wide, room, texts, charts } = JSON.parse(title.replaceAll("&quot;", '"'));
    assert(wide <= room, `${wide} pixels wide in ${room}`);
    assertEquals([texts, charts], [0, 8]);
  }
});

/** Every element is closed, in order. */
function assertBalanced(page: string): void {
  const open: string[] = [];
  for (const [, end, name] of page.matchAll(/<(\/?)([a-z0-9]+)[^>]*>/g)) {
    if (name === "meta") continue;
    if (end === "") open.push(name!);
    else assertEquals(open.pop(), name);
  }
  assertEquals(open, []);
}
