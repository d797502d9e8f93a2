/** Tests of the tar decoder: bytes in, entries out. */
import { assertEquals, assertInstanceOf, assertThrows } from "@std/assert";
import { concat } from "@std/bytes/concat";
import fc from "fast-check";
import { TarDecoder } from "../../src/archive/decode.ts";
import type { Entry } from "../../src/archive/entry.ts";
import { Place } from "../../src/archive/place.ts";
import { ArchiveError } from "../../src/errors.ts";
import { member, pax, sign, tar } from "../support/tar.ts";

interface Decoded {
  readonly name: string;
  readonly entry: Entry;
  readonly body: string;
}

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

function decode(bytes: Uint8Array<ArrayBuffer>, step = bytes.length, isSealed = false): Decoded[] {
  const found: Decoded[] = [];
  let entry: Entry | null = null;
  let body = "";
  const sink = {
    begin: (next: Entry) => {
      entry = next;
      body = "";
    },
    data: (piece: Uint8Array) => {
      body += text(piece);
    },
    hole: (length: number) => {
      body += ".".repeat(length);
    },
    end: () => found.push({ name: text(entry!.name), entry: entry!, body }),
  };
  const decoder = new TarDecoder(sink, new Place("x.tar"));
  for (let at = 0; at < bytes.length; at += step) decoder.push(bytes.slice(at, at + step));
  decoder.finish(isSealed);
  return found;
}

function refusal(bytes: Uint8Array<ArrayBuffer>, isSealed = false): string {
  return assertThrows(() => decode(bytes, bytes.length, isSealed), ArchiveError).message;
}

Deno.test("the decoder gives names, types, sizes, owners, modes and times", () => {
  const [file, directory, link] = decode(tar(
    { name: "a/b", body: "hello", mode: 0o4755, uid: 12, gid: 34, mtime: 1_700_000_000 },
    { name: "d/", type: "5", mode: 0o700 },
    { name: "l", type: "2", target: "../x" },
  ));
  assertEquals([file!.name, file!.body, file!.entry.kind], ["a/b", "hello", "file"]);
  const { mode, uid, gid, size, mtime } = file!.entry;
  assertEquals([mode, uid, gid, size], [0o4755, 12, 34, 5]);
  assertEquals(mtime, { seconds: 1_700_000_000, nanoseconds: 0 });
  assertEquals(directory!.entry.kind, "directory");
  assertEquals([link!.entry.kind, text(link!.entry.target)], ["symlink", "../x"]);
});

Deno.test("the decoder gives the same however the bytes are cut", () => {
  const bytes = tar(
    pax({ path: "long/".repeat(60) + "name", mtime: "1.5" }),
    { name: "short", body: "x".repeat(1500) },
    { name: "././@LongLink", type: "L", body: "y".repeat(200) + "\0" },
    { name: "y", body: "" },
    { name: "z", body: "z".repeat(512) },
  );
  const whole = decode(bytes);
  fc.assert(fc.property(fc.integer({ min: 1, max: 1200 }), (step) => {
    assertEquals(decode(bytes, step), whole);
  }));
});

Deno.test("the decoder joins prefix and name as POSIX, star and GNU write them", () => {
  const prefix = "p".repeat(155);
  assertEquals(decode(tar({ name: "n", prefix }))[0]!.name, `${prefix}/n`);
  const gnu = tar({ name: "n", prefix: "01234567", magic: "ustar  \0" });
  assertEquals(decode(gnu)[0]!.name, "n");
  const star = `${"p".repeat(131)}${"1".repeat(24)}\0\0\0\0\0\0\0\0tar\0`;
  assertEquals(decode(tar({ name: "n", prefix: star }))[0]!.name, `${"p".repeat(131)}/n`);
});

Deno.test("the decoder reads pax records: any bytes in names, fractions and times before 1970", () => {
  const name = new Uint8Array([0x61, 0xff, 0x80, 0x62]);
  const [entry] = decode(tar(pax({ path: name, mtime: "-1.25", uid: "70000", gid: "80000" }), {
    name: "short",
  }));
  assertEquals(entry!.entry.name, name);
  assertEquals(entry!.entry.mtime, { seconds: -2, nanoseconds: 750_000_000 });
  assertEquals([entry!.entry.uid, entry!.entry.gid], [70000, 80000]);
});

Deno.test("a global pax header holds for all entries after it, unless their own say otherwise", () => {
  const names = decode(tar(
    pax({ comment: "of git archive", mtime: "7" }, "g"),
    { name: "a" },
    pax({ mtime: "8.000000001" }),
    { name: "b" },
    { name: "c" },
  )).map(({ name, entry }) => [name, entry.mtime.seconds, entry.mtime.nanoseconds]);
  assertEquals(names, [["a", 7, 0], ["b", 8, 1], ["c", 7, 0]]);
});

Deno.test("the size of a pax record counts, not the header's (node-tar 188)", () => {
  const body = "x".repeat(700);
  const [file, next] = decode(
    tar(pax({ size: "700" }), { name: "a", body, size: 0 }, { name: "b" }),
  );
  assertEquals(file!.body, body);
  assertEquals(next!.name, "b");
});

Deno.test("a size above 8 GiB is read from base-256 (node-tar 188)", () => {
  const field = new Uint8Array([0x80, 0, 0, 0, 0, 0, 0, 2, 0x40, 0, 0, 0]);
  const header = member({ name: "huge", size: field });
  let size = 0;
  const begin = (entry: Entry) => void (size = entry.size);
  const sink = { begin, data: () => {}, hole: () => {}, end: () => {} };
  new TarDecoder(sink, new Place("x.tar")).push(header);
  assertEquals(size, 9 * 2 ** 30);
});

Deno.test("a long name that is cut at a slash is still a file", () => {
  const long = "d".repeat(99) + "/file";
  const [entry] = decode(
    tar({ name: "@", type: "L", body: long + "\0" }, { name: long, body: "x" }),
  );
  assertEquals([entry!.entry.kind, entry!.name], ["file", long]);
});

Deno.test("a hard link has no bytes, whatever its size says", () => {
  const entries = decode(tar({ name: "l", type: "1", target: "a", size: 5 }, { name: "b" }));
  assertEquals(entries.map(({ name }) => name), ["l", "b"]);
});

Deno.test("the decoder refuses, in one line, what is no tar", () => {
  const no = 'Cannot unpack "x.tar": it is not a tar archive, plain or in gzip or zstd';
  assertEquals(refusal(new Uint8Array(0)), 'Cannot unpack "x.tar": it is empty');
  assertEquals(refusal(new TextEncoder().encode("hello\n")), no);
  assertEquals(refusal(new Uint8Array(4096).fill(0x41)), no);
});

Deno.test("the decoder refuses an archive cut at any byte", () => {
  const bytes = tar(pax({ path: "a" }), { name: "short", body: "x".repeat(600) }, { name: "b" });
  const end = bytes.length - 1024;
  for (let length = 0; length <= end; length += length % 512 === 0 ? 1 : 73) {
    assertThrows(() => decode(bytes.slice(0, Math.min(length, end))), ArchiveError);
  }
  assertEquals(decode(bytes.slice(0, end), end, true).length, 2); // a checksum has shown it whole
  assertEquals(decode(bytes.slice(0, end + 512)).length, 2);
});

Deno.test("the decoder refuses other data after the end", () => {
  const bytes = concat([tar({ name: "a" }), new TextEncoder().encode("more")]);
  assertEquals(refusal(bytes), 'Cannot unpack "x.tar": other data follows its end, at byte 1536');
});

Deno.test("the decoder refuses unknown types by name", () => {
  const of = (type: string) => refusal(tar({ name: "a\nb", type }));
  const start = 'Cannot unpack "x.tar": entry "a\\nb" at byte 0 ';
  assertEquals(of("M"), `${start}continues from another volume`);
  assertEquals(of("%"), `${start}is of an unknown type, "%"`);
});

Deno.test("the decoder tells a device from a whiteout, which is the device 0:0", () => {
  const zero = member({ name: "a", type: "3" });
  const other = member({ name: "b", type: "3" });
  other.set(new TextEncoder().encode("0000001"), 337);
  sign(other);
  const kinds = decode(concat([zero, other, tar({ name: "c", type: "4" })])).map(({ entry }) =>
    entry.kind
  );
  assertEquals(kinds, ["whiteout", "device", "device"]);
});

Deno.test("the decoder refuses attributes by which overlayfs hides files", () => {
  for (const space of ["SCHILY.xattr.user", "SCHILY.xattr.trusted", "LIBARCHIVE.xattr.user"]) {
    const message = refusal(tar(pax({ [`${space}.overlay.whiteout`]: "y" }), { name: "s" }));
    assertEquals(message.endsWith("carries an extended attribute of overlayfs"), true);
  }
});

Deno.test("the decoder refuses malformed numbers, records and checksums", () => {
  const field = (text: string) => new TextEncoder().encode(text.padEnd(12, "\0"));
  const negative = new Uint8Array(12).fill(0xff);
  const vast = new Uint8Array(12).fill(0x7f);
  vast[0] = 0x80;
  refusal(tar({ name: "a", size: field("9") }));
  refusal(tar({ name: "a", size: negative }));
  refusal(tar({ name: "a", size: vast }));
  for (const body of ["5 a=b\n", "99 a=b\n", "6 a=b", "x a=b\n", "6 =ab\n", "0 ", "-6 a=b\n"]) {
    refusal(tar({ name: "p", type: "x", body }, { name: "a" }));
  }
  const bytes = tar({ name: "a" });
  bytes[0] = 0x62;
  refusal(bytes);
  refusal(tar({ name: "p", type: "x", size: 2 ** 30 }));
});

Deno.test("the decoder gives entries or an ArchiveError for any damage", () => {
  const good = tar(pax({ path: "a/b", size: "3" }), { name: "x", body: "abc" }, {
    name: "l",
    type: "2",
    target: "t",
  });
  const damage = fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { maxLength: 8 });
  fc.assert(
    fc.property(damage, fc.nat(good.length), (changes, length) => {
      const bytes = good.slice();
      for (const [at, byte] of changes) bytes[at] = byte;
      try {
        decode(bytes.slice(0, length), 100);
      } catch (error) {
        assertInstanceOf(error, ArchiveError);
      }
    }),
    { numRuns: 2000 },
  );
});
