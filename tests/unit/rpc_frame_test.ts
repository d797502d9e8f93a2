/** Tests how bytes become messages, and messages bytes. */
import { assert, assertEquals, assertInstanceOf } from "@std/assert";
import fc from "fast-check";
import { ParseError, RequestError } from "../../src/errors.ts";
import { encodeFrame, FrameDecoder } from "../../src/rpc/mod.ts";

const MIB = 1 << 20;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** What a decoder gives for chunks: texts, and the class of each fault. */
function decode(chunks: readonly (string | Uint8Array)[], maxBytes = 1000): string[] {
  const frames = new FrameDecoder(maxBytes);
  const seen: string[] = [];
  const note = (frame: Uint8Array | Error): void => {
    seen.push(frame instanceof Error ? frame.name : decoder.decode(frame));
  };
  for (const chunk of chunks) {
    const bytes = typeof chunk === "string" ? encoder.encode(chunk) : chunk.slice();
    for (const frame of frames.push(bytes)) note(frame);
    bytes.fill(0x21); // the chunk is its owner's again
  }
  for (const frame of frames.end()) note(frame);
  return seen;
}

function withHeader(...bodies: readonly string[]): string {
  return bodies.map((body) => decoder.decode(encodeFrame(body, "header"))).join("");
}

/** Cuts bytes at random places, also within characters. */
function arbitraryPieces(text: string): fc.Arbitrary<Uint8Array[]> {
  const bytes = encoder.encode(text);
  return fc.array(fc.nat(bytes.length)).map((cuts) => {
    const places = [0, ...cuts.sort((a, b) => a - b), bytes.length];
    return places.slice(1).map((end, index) => bytes.subarray(places[index], end));
  });
}

Deno.test("messages are lines; CRLF is taken, and empty lines are ignored", () => {
  assertEquals(decode(["\n\r\n [1]\n{}\r\n \t\r\n[2]\n\n"]), ["[1]", "{}\r", "[2]"]);
});

Deno.test("a last line needs no newline", () => {
  assertEquals(decode(["[1]\n[2]"]), ["[1]", "[2]"]);
  assertEquals(decode(["C"]), ["C"]);
});

Deno.test("the first bytes say that messages have headers, in any case and among others", () => {
  const text = "\r\ncontent-TYPE: x\r\ncontent-length:2\r\n\r\n[]" + withHeader('{"ä":\n1}', "");
  assertEquals(decode([text]), ["[]", '{"ä":\n1}', ""]);
});

Deno.test("messages are the same however their bytes are cut", () => {
  const lines = '{"a":"ä€😀"}\r\n\n[1]\nContent-Length: 3\n';
  const headers = withHeader('{"a":"ä€😀"}', "[1]\n") + "\r\nX-Y: z\r\n" + withHeader("[]");
  for (const text of [lines, headers]) {
    const whole = decode([text]);
    assertEquals(whole.length, 3);
    fc.assert(fc.property(arbitraryPieces(text), (pieces) => {
      assertEquals(decode(pieces), whole);
    }));
    assertEquals(decode([...encoder.encode(text)].map((byte) => Uint8Array.of(byte))), whole);
  }
});

Deno.test("a message as long as allowed is taken; a longer one is a fault, told once", () => {
  for (const pieces of [1, 3]) {
    const cut = (text: string): string[] => {
      const size = Math.ceil(text.length / pieces);
      return Array.from({ length: pieces }, (_, i) => text.slice(i * size, (i + 1) * size));
    };
    const [fits, long] = ["x".repeat(20), "x".repeat(21)];
    assertEquals(decode(cut(`${fits}\n${long}\n[]\n`), 20), [fits, "RequestError", "[]"]);
    assertEquals(decode(cut(`${long.repeat(9)}\n[]\n`), 20), ["RequestError", "[]"]);
    const headers = withHeader(fits, long, "[]");
    assertEquals(decode(cut(headers), 20), [fits, "RequestError", "[]"]);
  }
});

Deno.test("the fault of a long message says how long one may be", () => {
  const [frame] = new FrameDecoder(3).push(encoder.encode("[1,2]\n"));
  assertInstanceOf(frame, RequestError);
  assertEquals(frame.message, "Cannot read a message: it is longer than 3 bytes");
});

Deno.test("100 MB in a line of 64 KiB pieces are skipped without being held", () => {
  const frames = new FrameDecoder(MIB);
  const piece = new Uint8Array(64 * 1024).fill(0x78);
  const before = Deno.memoryUsage().external;
  let faults = 0;
  let most = 0;
  for (let sent = 0; sent < 100e6; sent += piece.length) {
    faults += [...frames.push(piece)].length;
    most = Math.max(most, Deno.memoryUsage().external - before);
  }
  assertEquals([...frames.push(encoder.encode("\n[]\n"))].map((frame) => frame instanceof Error), [
    false,
  ]);
  assertEquals(faults, 1);
  assert(most < 16 * MIB, `${most} bytes held`);
});

Deno.test("a message of 50 MB in 64 KiB pieces is whole", () => {
  const frames = new FrameDecoder(64 * MIB);
  const piece = new Uint8Array(64 * 1024).fill(0x78);
  for (let count = 0; count < 800; count++) assertEquals([...frames.push(piece)], []);
  const [frame] = frames.push(encoder.encode("\n"));
  assertInstanceOf(frame, Uint8Array);
  assertEquals(frame.length, 800 * piece.length);
  assert(frame.every((byte) => byte === 0x78));
});

for (
  const header of [
    "Content-Length: -1",
    "Content-Length: x",
    "Content-Length: 99999999999999999999",
    "Content-Type: x\r\nContent-Length",
    "Content-Length: 1\r\n{}",
    `Content-Type: ${"x".repeat(5000)}`,
  ]
) {
  Deno.test(`a bad header is a fault, and the next message is read: ${header.slice(0, 40)}`, () => {
    const text = `${header}\r\n\r\n{"lost":1}${withHeader("[1]", "[2]")}`;
    assertEquals(decode([text]), ["RequestError", "[1]", "[2]"]);
  });
}

Deno.test("each bad header is a fault of its own", () => {
  const text = "Content-Length: x\r\n\r\n" + withHeader("[1]");
  assertEquals(decode([text, text]), ["RequestError", "[1]", "RequestError", "[1]"]);
});

Deno.test("an input that ends within a message with a header is a fault", () => {
  for (const half of ["Content-Le", "Content-Length: 3\r\n", "Content-Length: 3\r\n\r\n[1"]) {
    assertEquals(decode([withHeader("[0]"), half]), ["[0]", "ParseError"]);
  }
  const frames = new FrameDecoder(1000);
  assertEquals([...frames.push(encoder.encode("Content-Length: 3\r\n\r\n["))], []);
  const [fault] = frames.end();
  assertInstanceOf(fault, ParseError);
  assertEquals(fault.message, "Cannot read a message: the input ended within it");
});

Deno.test("encodeFrame() counts bytes, and ends a line", () => {
  assertEquals(decoder.decode(encodeFrame('"ä"', "line")), '"ä"\n');
  assertEquals(decoder.decode(encodeFrame('"ä"', "header")), 'Content-Length: 4\r\n\r\n"ä"');
});
