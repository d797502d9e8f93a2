/** Tests of the pieces of a patch: hunks, names, and bytes as git writes them. */
import { assertEquals } from "@std/assert";
import { isBinary, toLiteral } from "../../src/diff/binary.ts";
import { toHunks } from "../../src/diff/hunk.ts";
import { headerName, quoteName } from "../../src/diff/quote.ts";

const lines = (...all: (string | number)[]) => all.map((it) => `${it}\n`).join("");
const range = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => from + i);

Deno.test("toHunks() tells of new, removed and unfinished texts as git does", () => {
  assertEquals(toHunks("", "a\nb\n"), "@@ -0,0 +1,2 @@\n+a\n+b\n");
  assertEquals(toHunks("a\n", ""), "@@ -1 +0,0 @@\n-a\n");
  assertEquals(toHunks("a", "a\n"), "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n");
  assertEquals(toHunks("a\r\n", "a\n"), "@@ -1 +1 @@\n-a\r\n+a\n");
});

Deno.test("toHunks() gives three lines of context, and the head of the function", () => {
  const before = lines("function f() {", ...range(1, 20).map((it) => `  ${it}`));
  const after = before.replace("  10\n", "  ten\n");
  assertEquals(
    toHunks(before, after),
    "@@ -8,7 +8,7 @@ function f() {\n" +
      lines("   7", "   8", "   9", "-  10", "+  ten", "   11", "   12", "   13"),
  );
});

Deno.test("toHunks() shows what was added where it reads best", () => {
  const one = lines("def a():", "    return 1", "", "");
  const two = lines("def b():", "    return 1", "", "");
  const end = lines("def c():", "    return 1");
  assertEquals(
    toHunks(one + end, one + two + end),
    "@@ -2,5 +2,9 @@ def a():\n" + lines("     return 1", " ", " ") +
      lines("+def b():", "+    return 1", "+", "+") + lines(" def c():", "     return 1"),
  );
});

Deno.test("toHunks() ends also where all has moved", () => {
  const count = 300_000;
  const numbers = Array.from({ length: count }, (_, i) => `${i}\n`);
  const before = numbers.join("");
  const after = numbers.map((_, i) => numbers[i * 7919 % count]!).join("");
  const marks = toHunks(before, after).match(/^[-+]/gm)!;
  const removed = marks.filter((mark) => mark === "-").length;
  assertEquals([removed > 0, marks.length], [true, 2 * removed]);
});

Deno.test("toHunks() replaces as a whole what differs in very many lines", () => {
  const before = lines("same", ...range(1, 2000), "end");
  const after = lines("same", ...range(3001, 5000), "end");
  const text = toHunks(before, after).split("\n");
  assertEquals(text[0], "@@ -1,2002 +1,2002 @@");
  assertEquals(text.slice(1, 3), [" same", "-1"]);
  assertEquals(text.slice(-3), ["+5000", " end", ""]);
});

Deno.test("names are quoted as git quotes them", () => {
  assertEquals(quoteName("a/b c"), "a/b c");
  assertEquals(quoteName('a"b\\\t\x01\xc3\xa9'), '"a\\"b\\\\\\t\\001\\303\\251"');
  assertEquals(headerName("a b"), "a b\t");
  assertEquals(headerName("a\n b"), '"a\\n b"\t');
  assertEquals(headerName("a\nb"), '"a\\nb"');
});

Deno.test("bytes are written deflated in base 85", () => {
  // As git writes an empty file.
  assertEquals(toLiteral(new Uint8Array(0)), "literal 0\nHcmV?d00001\n\n");
  assertEquals(isBinary(Uint8Array.of(65, 0)), true);
  assertEquals(isBinary(new Uint8Array(9000).fill(65)), false);
});
