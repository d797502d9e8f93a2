/** Tests of the decoder on sparse files: each format that GNU tar has written. */
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { concat } from "@std/bytes/concat";
import { TarDecoder } from "../../src/archive/decode.ts";
import { Place } from "../../src/archive/place.ts";
import { ArchiveError } from "../../src/errors.ts";
import { member, pax, sign, tar } from "../support/tar.ts";

const encoder = new TextEncoder();

/** Gives each entry as its name, its size, and its content with a dot for each byte of a hole. */
function decode(bytes: Uint8Array<ArrayBuffer>, step = bytes.length): string[] {
  const found: string[] = [];
  const decoder = new TarDecoder({
    begin: ({ name, size }) => found.push(`${new TextDecoder().decode(name)} ${size} `),
    data: (piece) => found[found.length - 1] += new TextDecoder().decode(piece),
    hole: (length) => found[found.length - 1] += ".".repeat(length),
    end: () => found[found.length - 1] += "|",
  }, new Place("x.tar"));
  for (let at = 0; at < bytes.length; at += step) decoder.push(bytes.slice(at, at + step));
  decoder.finish(false);
  return found;
}

function refusal(bytes: Uint8Array<ArrayBuffer>): string {
  return assertThrows(() => decode(bytes), ArchiveError).message;
}

/** Writes a header of GNU's old format, with blocks for the pieces that it cannot hold. */
function oldGnu(
  pieces: readonly (readonly [number, number])[],
  size: number,
  body: string,
): Uint8Array<ArrayBuffer> {
  const write = (block: Uint8Array, at: number, value: number) =>
    encoder.encodeInto(value.toString(8).padStart(11, "0"), block.subarray(at));
  const fill = (block: Uint8Array, from: number, some: typeof pieces) =>
    some.forEach(([offset, length], i) => {
      write(block, from + 24 * i, offset);
      write(block, from + 24 * i + 12, length);
    });
  const whole = member({ name: "sparse", type: "S", body, magic: "ustar  \0" });
  const header = whole.slice(0, 512);
  fill(header, 386, pieces.slice(0, 4));
  write(header, 483, size);
  const blocks: Uint8Array[] = [];
  for (let at = 4; at < pieces.length; at += 21) {
    const block = new Uint8Array(512);
    fill(block, 0, pieces.slice(at, at + 21));
    if (at + 21 < pieces.length) block[504] = 1;
    blocks.push(block);
  }
  if (blocks.length > 0) header[482] = 1;
  sign(header);
  return concat([header, ...blocks, whole.slice(512), tar({ name: "next" })]);
}

Deno.test("the decoder reads GNU's old sparse files, also with many pieces", () => {
  const two = oldGnu([[2, 3], [8, 1], [12, 0]], 12, "abcd");
  assertEquals(decode(two), ["sparse 12 ..abc...d...|", "next 0 |"]);
  const pieces = Array.from({ length: 60 }, (_, i) => [2 * i, 1] as const);
  const many = oldGnu(pieces, 120, "x".repeat(60));
  const expected = [`sparse 120 ${"x.".repeat(60)}|`, "next 0 |"];
  for (const step of [1, 7, 511, 512, 513, many.length]) assertEquals(decode(many, step), expected);
});

Deno.test("the decoder reads sparse files of pax 0.0, 0.1 and 1.0", () => {
  const body = "abcd";
  const expected = ["dir/real 12 ..abc...d...|", "next 0 |"];
  const repeated = concat([
    record("GNU.sparse.size", "12"),
    record("GNU.sparse.numblocks", "2"),
    record("GNU.sparse.offset", "2"),
    record("GNU.sparse.numbytes", "3"),
    record("GNU.sparse.offset", "8"),
    record("GNU.sparse.numbytes", "1"),
  ]);
  const zero = tar({ name: "x", type: "x", body: repeated }, { name: "dir/real", body }, {
    name: "next",
  });
  assertEquals(decode(zero), expected);
  const one = tar(
    pax({
      "GNU.sparse.size": "12",
      "GNU.sparse.numblocks": "2",
      "GNU.sparse.map": "2,3,8,1",
      "GNU.sparse.name": "dir/real",
    }),
    { name: "dir/GNUSparseFile.1/real", body },
    { name: "next" },
  );
  assertEquals(decode(one), expected);
  const map = "3\n2\n3\n8\n1\n12\n0\n".padEnd(512, "\0");
  for (const step of [1, 100, 512, 4096]) assertEquals(decode(lines(map + body), step), expected);
});

Deno.test("the decoder reads a file that is one hole", () => {
  const map = "1\n12\n0\n".padEnd(512, "\0");
  assertEquals(decode(lines(map)), ["dir/real 12 ............|", "next 0 |"]);
  assertEquals(decode(oldGnu([[12, 0]], 12, "")), ["sparse 12 ............|", "next 0 |"]);
});

Deno.test("the decoder refuses maps that do not fit the file", () => {
  const malformed = 'entry "dir/real" at byte 1024 has a malformed map of a sparse file';
  const maps = [
    "1\n9\n4\n", // past the end
    "1\n0\n5\n", // more than is stored
    "1\n0\n3\n", // less than is stored
    "2\n4\n2\n2\n2\n", // backwards
    "2\n0\n3\n2\n1\n", // overlapping
    "x\n",
    "\n",
    "1\n99999999999999999\n4\n",
    "1\n9007199254740991\n4\n",
  ];
  for (const map of maps) {
    assertStringIncludes(refusal(lines(map.padEnd(512, "\0") + "abcd")), malformed);
  }
  // A map that never ends, or is longer than the file's bytes.
  assertStringIncludes(refusal(lines("99\n".padEnd(512, "0"))), malformed);
  assertStringIncludes(refusal(lines(`9999\n${"1\n0\n".repeat(127)}`.padEnd(512, "1"))), malformed);
});

Deno.test("the decoder refuses sparse files of formats that it does not know", () => {
  const sparse = (records: Record<string, string>) => tar(pax(records), { name: "s" });
  assertStringIncludes(
    refusal(sparse({ "GNU.sparse.major": "2", "GNU.sparse.minor": "0", "GNU.sparse.size": "1" })),
    "is a sparse file in a format that is not known",
  );
  assertStringIncludes(refusal(sparse({ "GNU.sparse.map": "0,1" })), "is a sparse file of no size");
});

function lines(body: string): Uint8Array<ArrayBuffer> {
  return tar(
    pax({
      "GNU.sparse.major": "1",
      "GNU.sparse.minor": "0",
      "GNU.sparse.realsize": "12",
      "GNU.sparse.name": "dir/real",
    }),
    { name: "dir/GNUSparseFile.1/real", body },
    { name: "next" },
  );
}

function record(key: string, value: string): Uint8Array {
  const rest = ` ${key}=${value}\n`;
  const length = rest.length + 2;
  return encoder.encode(`${length}${rest}`);
}
