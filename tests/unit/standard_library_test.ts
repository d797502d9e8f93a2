/** Tests that each import of `deno.json` loads and does what its name says. */
import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { abortable } from "@std/async/abortable";
import { deadline } from "@std/async/deadline";
import { delay } from "@std/async/delay";
import { pooledMap } from "@std/async/pool";
import { concat } from "@std/bytes/concat";
import { equals } from "@std/bytes/equals";
import { parseArgs } from "@std/cli/parse-args";
import { format as formatBytes } from "@std/fmt/bytes";
import { green, setColorEnabled, stripAnsiCode } from "@std/fmt/colors";
import { format as formatDuration } from "@std/fmt/duration";
import { basename } from "@std/path/basename";
import { dirname } from "@std/path/dirname";
import { extname } from "@std/path/extname";
import { fromFileUrl } from "@std/path/from-file-url";
import { isAbsolute } from "@std/path/is-absolute";
import { join } from "@std/path/join";
import { normalize } from "@std/path/normalize";
import { relative } from "@std/path/relative";
import { resolve } from "@std/path/resolve";
import { TextLineStream } from "@std/streams/text-line-stream";
import { toBytes } from "@std/streams/to-bytes";
import { toText } from "@std/streams/to-text";
import { closestString } from "@std/text/closest-string";
import { levenshteinDistance } from "@std/text/levenshtein-distance";
import fc from "fast-check";
import { createTarPacker } from "modern-tar";
import * as z from "zod/mini";

Deno.test("@std/async waits, limits and aborts", async () => {
  await delay(1);
  await assertRejects(() => deadline(new Promise(() => {}), 1), DOMException);
  await assertRejects(() => abortable(new Promise(() => {}), AbortSignal.abort()), DOMException);
  const doubled = await Array.fromAsync(pooledMap(2, [1, 2, 3], (n) => Promise.resolve(n * 2)));
  assertEquals(doubled, [2, 4, 6]);
});

Deno.test("@std/bytes and @std/streams join bytes and split lines", async () => {
  const joined = concat([new Uint8Array([1]), new Uint8Array([2])]);
  assert(equals(joined, new Uint8Array([1, 2])));
  assertEquals(await toBytes(ReadableStream.from([joined])), joined);
  assertEquals(await toText(ReadableStream.from(["a", "b"])), "ab");
  const lines = ReadableStream.from(["a\nb", "c\n"]).pipeThrough(new TextLineStream());
  assertEquals(await Array.fromAsync(lines), ["a", "bc"]);
});

Deno.test("@std/cli, @std/fmt and @std/text read and write words", () => {
  assertEquals(parseArgs(["--a", "1", "b"], { string: ["a"] }), { _: ["b"], a: "1" });
  assertEquals(formatBytes(1536, { binary: true }), "1.5 kiB");
  assertEquals(formatDuration(61_000, { ignoreZero: true }), "1m 1s");
  setColorEnabled(true);
  assertEquals(stripAnsiCode(green("go")), "go");
  assertEquals(closestString("lyer", ["layer", "run"]), "layer");
  assertEquals(levenshteinDistance("kitten", "sitting"), 3);
});

Deno.test("@std/path knows POSIX paths", () => {
  assertEquals(basename("/a/b.ts"), "b.ts");
  assertEquals(dirname("/a/b.ts"), "/a");
  assertEquals(extname("/a/b.ts"), ".ts");
  assertEquals(fromFileUrl("file:///a%20b"), "/a b");
  assert(isAbsolute("/a"));
  assertEquals(join("/a", "b"), "/a/b");
  assertEquals(normalize("/a/../b"), "/b");
  assertEquals(relative("/a/b", "/a/c"), "../c");
  assertEquals(resolve("/a", "../b"), "/b");
});

Deno.test("fast-check, modern-tar and zod load", () => {
  fc.assert(fc.property(fc.integer(), (n) => Number.isInteger(n)));
  assertEquals(typeof createTarPacker, "function");
  assertEquals(z.object({ a: z.number() }).parse({ a: 1 }), { a: 1 });
  assertMatch(JSON.stringify(z.toJSONSchema(z.string())), /"type":"string"/);
  assertThrows(() => z.string().parse(1), z.core.$ZodError);
});
