/** Tests of the encoder: what it writes, the decoder reads as the same entry. */
import { assertEquals } from "@std/assert";
import { concat } from "@std/bytes/concat";
import fc from "fast-check";
import { paddingOf } from "../../src/archive/block.ts";
import { TarDecoder } from "../../src/archive/decode.ts";
import { encodeEntry, storedBytes } from "../../src/archive/encode.ts";
import type { Entry, Extent, PackedEntry } from "../../src/archive/entry.ts";
import { Place } from "../../src/archive/place.ts";

const none = new Uint8Array(0);

function entry(options: Partial<PackedEntry>): PackedEntry {
  return {
    kind: "file",
    name: new TextEncoder().encode("name"),
    target: none,
    mode: 0o644,
    uid: 0,
    gid: 0,
    size: 0,
    extents: null,
    mtime: { seconds: 0, nanoseconds: 0 },
    xattrs: [],
    ...options,
  };
}

function archive(packed: PackedEntry): Uint8Array<ArrayBuffer> {
  const stored = storedBytes(packed);
  const body = new Uint8Array(stored + paddingOf(stored));
  return concat([encodeEntry(packed), body, new Uint8Array(1024)]);
}

function decode(bytes: Uint8Array<ArrayBuffer>): { entry: Entry; bytes: number; holes: number }[] {
  const found: { entry: Entry; bytes: number; holes: number }[] = [];
  const decoder = new TarDecoder({
    begin: (entry) => found.push({ entry, bytes: 0, holes: 0 }),
    data: ({ length }) => found.at(-1)!.bytes += length,
    hole: (length) => found.at(-1)!.holes += length,
    end: () => {},
  }, new Place("x.tar"));
  for (let at = 0; at < bytes.length; at += 1000) decoder.push(bytes.slice(at, at + 1000));
  decoder.finish(false);
  return found;
}

/** Bytes without NUL that form a path. */
const path = fc.array(
  fc.uint8Array({ minLength: 1, maxLength: 120 }).map((part) =>
    part.map((byte) => byte === 0 || byte === 0x2f ? 0x61 : byte)
  ),
  { minLength: 1, maxLength: 5 },
).map((parts) =>
  new Uint8Array(concat(parts.flatMap((part) => [Uint8Array.of(0x2f), part]))).slice(1)
);

const id = fc.oneof(fc.nat(70_000), fc.nat(2 ** 32 - 1));

const extents = fc.array(fc.tuple(fc.integer({ min: 1, max: 2 ** 34 }), fc.nat(2000)), {
  maxLength: 60,
}).chain((pieces) =>
  fc.nat(5000).map((rest) => {
    let at = 0;
    const extents: Extent[] = [];
    for (const [hole, length] of pieces) {
      extents.push({ offset: at + hole, length: length + 1 });
      at += hole + length + 1;
    }
    return { extents, size: at + rest };
  })
);

const xattr = fc.record({
  name: fc.stringMatching(/^user\.[a-z%=. ]{1,20}$/),
  value: fc.uint8Array({ maxLength: 300 }).map((bytes) => new Uint8Array(bytes)),
});

const described = fc.record({
  name: path,
  mode: fc.nat(0o7777),
  uid: id,
  gid: id,
  mtime: fc.record({
    seconds: fc.oneof(fc.nat(), fc.integer({ min: -(2 ** 40), max: 2 ** 40 })),
    nanoseconds: fc.oneof(fc.constant(0), fc.nat(999_999_999)),
  }),
  xattrs: fc.uniqueArray(xattr, { maxLength: 3, selector: ({ name }) => name }),
});

const packed: fc.Arbitrary<PackedEntry> = fc.tuple(
  described,
  fc.oneof(
    fc.record({ kind: fc.constant("file" as const), size: fc.nat(3000) }),
    extents.map((sparse) => ({ kind: "file" as const, ...sparse })),
    fc.record({ kind: fc.constantFrom("symlink" as const, "link" as const), target: path }),
    fc.record({ kind: fc.constantFrom("directory" as const, "fifo" as const) }),
    fc.constant({ kind: "whiteout" as const }),
  ),
).map(([description, rest]) => entry({ ...description, ...rest }));

Deno.test("the decoder reads from what the encoder wrote the same entry", () => {
  fc.assert(
    fc.property(packed, (before) => {
      const bytes = archive(before);
      assertEquals(bytes.length % 512, 0);
      const [after, ...rest] = decode(bytes);
      assertEquals(rest, []);
      const isDirectory = before.kind === "directory";
      const name = isDirectory ? concat([before.name, Uint8Array.of(0x2f)]) : before.name;
      assertEquals(after!.entry, { ...before, name });
      assertEquals(after!.bytes, storedBytes(before));
      assertEquals(after!.bytes + after!.holes, before.size);
    }),
    { numRuns: 1000 },
  );
});

Deno.test("the encoder adds pax records only where ustar cannot hold the entry", () => {
  const blocks = (options: Partial<PackedEntry>) => encodeEntry(entry(options)).length / 512;
  const name = (length: number) => new Uint8Array(length).fill(0x61);
  const path = (...lengths: number[]) =>
    new TextEncoder().encode(lengths.map((length) => "a".repeat(length)).join("/"));
  assertEquals(blocks({ name: name(100), uid: 0o7777777, size: 0o77777777777 }), 1);
  assertEquals(blocks({ name: path(155, 100) }), 1);
  assertEquals(blocks({ name: path(156, 100) }), 3);
  assertEquals(blocks({ name: path(155, 101) }), 3);
  assertEquals(blocks({ name: name(101) }), 3);
  assertEquals(blocks({ kind: "symlink", target: name(100) }), 1);
  assertEquals(blocks({ kind: "symlink", target: name(101) }), 3);
  assertEquals(blocks({ gid: 0o10000000 }), 3);
  assertEquals(blocks({ size: 0o100000000000 }), 3);
  assertEquals(blocks({ mtime: { seconds: 1, nanoseconds: 1 } }), 3);
  assertEquals(blocks({ mtime: { seconds: -1, nanoseconds: 0 } }), 3);
});
