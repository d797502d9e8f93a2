/** Tests of what is shown while layers are made. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { stripAnsiCode } from "@std/fmt/colors";
import type { LayerEvent } from "../../src/app/layer.ts";
import { Progress } from "../../src/cli/progress.ts";

const layer = { archive: "/x/venv\n.tar.gz", path: "/opt/venv" };
const events: readonly LayerEvent[] = [
  { layer, phase: "hash", done: 0, total: 2048 },
  { layer, phase: "wait", done: 0, total: 2048 },
  { layer, phase: "queued", done: 0, total: 2048 },
  { layer, phase: "unpack", done: 0, total: 2048 },
  { layer, phase: "unpack", done: 1024, total: 2048 },
  { layer, phase: "sync", done: 2048, total: 2048 },
  { layer, phase: "ready", done: 2048, total: 2048 },
];

function shown(options: { isTerminal?: boolean; isQuiet?: boolean; isPlain?: boolean }): string {
  let text = "";
  {
    using progress = new Progress({
      ...{ isTerminal: false, isQuiet: false, isPlain: false, ...options },
      write: (piece) => text += piece,
    });
    events.forEach(progress.show);
  }
  return text;
}

Deno.test("progress is a line at each layer's start and end where there is no terminal", () => {
  const what = '"/x/venv\\n.tar.gz" (2 kiB) for /opt/venv';
  assertEquals(
    shown({}),
    [
      `minisandbox: waiting for another process to unpack ${what}`,
      `minisandbox: waiting for the I/O budget to unpack ${what}`,
      `minisandbox: unpacking ${what}`,
      `minisandbox: unpacked ${what}`,
      "",
    ].join("\n"),
  );
});

Deno.test("progress is a bar on a terminal, and the bar is taken away", () => {
  const text = shown({ isTerminal: true });
  assertStringIncludes(text, "\x1b[36m");
  assertStringIncludes(stripAnsiCode(text), "0% unpacking venv\\n.tar.gz");
  assertEquals(text.endsWith("for /opt/venv\n"), true);
  assertEquals(shown({ isTerminal: true, isPlain: true }).includes("\x1b[36m"), false);
});

Deno.test("each of several layers has a line of its own on a terminal, and none is left", () => {
  let text = "";
  const other = { archive: "/x/repository.tar", path: "/testbed" };
  {
    using progress = new Progress({
      ...{ isTerminal: true, isQuiet: false, isPlain: true, columns: 61 },
      write: (piece) => text += piece,
    });
    progress.show({ layer, phase: "unpack", done: 512, total: 2048 });
    progress.show({ layer: other, phase: "queued", done: 0, total: 4096 });
  }
  const [last = ""] = text.split("\r\x1b[K").slice(-2);
  assertEquals(last.split("\n"), [
    "██████░░░░░░░░░░░░░░░░░░ 25% unpacking venv\\n.tar.gz (2 kiB)",
    "░░░░░░░░░░░░░░░░░░░░░░░░  0% waiting for the I/O budget to u",
  ]);
  assertEquals(text.endsWith("\r\x1b[K\x1b[A\x1b[K"), true);
});

Deno.test("a layer that was there already is not called unpacked", () => {
  let text = "";
  const write = (piece: string) => void (text += piece);
  using progress = new Progress({ isTerminal: false, isQuiet: false, isPlain: true, write });
  progress.show({ layer, phase: "hash", done: 0, total: 2048 });
  progress.show({ layer, phase: "ready", done: 2048, total: 2048 });
  assertEquals(text, "");
});

Deno.test("progress is nothing when it is to be quiet", () => {
  assertEquals(shown({ isQuiet: true, isTerminal: true }), "");
});
