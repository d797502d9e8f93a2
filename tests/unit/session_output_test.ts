/** Tests of what is kept of a session's output, and of what is found in it. */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { findMatch, type Pattern } from "../../src/session/expect.ts";
import { OutputRecord } from "../../src/session/output.ts";
import { Pending } from "../../src/session/pending.ts";
import { parseBegun, ReportReader } from "../../src/session/report.ts";

const encode = (text: string) => new TextEncoder().encode(text);
const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

const pieces = fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 30 });
const copy = (bytes: Uint8Array) => new Uint8Array(bytes);

function join(list: readonly Uint8Array[]): number[] {
  return list.flatMap((bytes) => [...bytes]);
}

Deno.test("a record keeps the head, the tail and the count, whatever the pieces", () => {
  fc.assert(
    fc.property(pieces, fc.nat(200), fc.nat(200), (list, headBytes, tailBytes) => {
      const told: number[] = [];
      const record = new OutputRecord({ headBytes, tailBytes }, (bytes, offset) => {
        assertEquals(offset, told.length);
        told.push(...bytes);
      });
      for (const piece of list) record.push(copy(piece));
      const all = join(list);
      const { head, tail, totalBytes, isTruncated } = record.finish(false);
      assertEquals(told, all);
      assertEquals(totalBytes, all.length);
      assertEquals([...head], all.slice(0, headBytes));
      const rest = all.slice(headBytes);
      assertEquals([...tail], rest.slice(Math.max(0, rest.length - tailBytes)));
      assertEquals(isTruncated, all.length > headBytes + tailBytes);
    }),
  );
});

Deno.test("a record keeps little more than it has to of gigabytes", () => {
  const record = new OutputRecord({ headBytes: 10, tailBytes: 10 });
  const piece = new Uint8Array(1 << 20);
  for (let i = 0; i < 3000; i++) record.push(piece);
  const { head, tail, totalBytes } = record.finish(false);
  assertEquals([head.length, tail.length, totalBytes], [10, 10, 3000 * piece.length]);
});

for (
  const [texts, isShells, expected] of [
    [["a\n", "\n"], true, "a\n"],
    [["a\n", "\n"], false, "a\n\n"],
    [["a", "\n", "b"], true, "a\nb"],
    [["\n"], true, ""],
    [["a"], true, "a"],
  ] as const
) {
  Deno.test(`of ${JSON.stringify(texts)} the last newline is ${isShells ? "the shell's" : "kept"}`, () => {
    let told = "";
    const record = new OutputRecord({ headBytes: 100, tailBytes: 0 }, (bytes) => {
      told += decode(bytes);
    });
    record.holdNewlines();
    for (const text of texts) record.push(encode(text));
    assertEquals(decode(record.finish(isShells).head), expected);
    assertEquals(told, expected);
  });
}

Deno.test("findMatch() finds the first match of several patterns, in bytes", () => {
  const find = (text: string | Uint8Array<ArrayBuffer>, ...patterns: readonly Pattern[]) => {
    const match = findMatch(typeof text === "string" ? encode(text) : text, patterns);
    return match === null ? null : [match.index, match.start, match.end];
  };
  assertEquals(find("abc", "x"), null);
  assertEquals(find("abc", "c", "b"), [1, 1, 2]);
  assertEquals(find("abc", /b./, "bc", "b"), [0, 1, 3]);
  assertEquals(find("ééb1", /\d/, "b1"), [1, 4, 6]);
  assertEquals(find("aab", "ab"), [0, 1, 3]);
  assertEquals(find("x", ""), [0, 0, 0]);
  assertEquals(find("abab", /b/gy), [0, 1, 2]);
  assertEquals(find(Uint8Array.of(0xff, 0xfe, 0x41), /\xfeA/, "A"), [0, 1, 3]);
  assertEquals(find(encode("é").subarray(0, 1), /é/), null);
});

Deno.test("what is pending is found and given away in order, whatever the pieces", () => {
  fc.assert(
    fc.property(fc.array(fc.stringMatching(/^[ab$]{0,9}$/)), (texts) => {
      const pending = new Pending();
      const given: string[] = [];
      for (const text of texts) {
        pending.push(encode(text));
        for (let match = pending.find(["$"]); match !== null; match = pending.find(["$"])) {
          given.push(decode(pending.take(match.end)));
        }
      }
      given.push(decode(pending.take()));
      const all = texts.join("");
      assertEquals(
        given,
        all.split("$").map((part, i, { length }) => i < length - 1 ? `${part}$` : part),
      );
    }),
  );
});

Deno.test("more than can be kept of what is pending loses its beginning, and says so", () => {
  const pending = new Pending();
  const piece = new Uint8Array(1 << 20).fill(0x61);
  for (let i = 0; i < 20; i++) pending.push(piece);
  pending.push(encode("end"));
  assertEquals(pending.find(["end"]), { index: 0, start: (8 << 20) - 3, end: 8 << 20 });
  assertEquals(pending.droppedBytes, (12 << 20) + 3);
  assertEquals(pending.take().length, 8 << 20);
});

Deno.test("of what comes through the report pipe only reports are taken", () => {
  const reader = new ReportReader();
  assertEquals(reader.push(encode("\n\ne 0123abcd 3 tr\n\ne 0123ab")), [
    { id: "0123abcd", status: 3, flags: "tr" },
  ]);
  assertEquals(reader.push(encode("cd 0 \n")), [{ id: "0123abcd", status: 0, flags: "" }]);
  const wrong = "e 0123abcd\ne 0123abcd 1234 \ne xyz 0 \ne 0123abcd x \n \0\xff\ne 0123abcd -1 \n";
  assertEquals(reader.push(encode(wrong)), []);
  for (let i = 0; i < 20; i++) assertEquals(reader.push(new Uint8Array(1 << 20)), []);
  assertEquals(reader.push(encode("\ne 0123abcd 7 \n")).length, 1);
  assertEquals(reader.push(encode("garbage")), []);
  assertEquals(reader.push(encode("e 0123abcd 7 \n")).length, 1);
});

Deno.test("what has begun is read from the beginning of the text", () => {
  assertEquals(parseBegun(encode("s 0123abcd 17\necho")), { id: "0123abcd", lastPid: 17 });
  assertEquals(parseBegun(encode("s 0123abcd \n")), { id: "0123abcd", lastPid: 0 });
  for (const text of ["", "echo s 0123abcd \n", "s 0123abcd", "s 0123abc 1\n"]) {
    assertEquals(parseBegun(encode(text)), null);
  }
});
