/** Archives of every kind that we read, and damage done to them by chance, the same for the same seed. */
import { concat } from "@std/bytes/concat";
import type { Random } from "./random.ts";
import { type Member, member, pax, sign, tar } from "./tar.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** Gives small archives whose names and links reach for `outside`, an absolute path. */
export function seedArchives(outside: string): Bytes[] {
  const tree: Member[] = [
    { name: "dir/", type: "5", mode: 0o750 },
    { name: "dir/file", body: "content", mode: 0o4755 },
    { name: "door", type: "2", target: outside },
    { name: "twin", type: "1", target: "dir/file" },
    { name: "pipe", type: "6" },
  ];
  const escapes: Member[] = [
    { name: "d00r", type: "2", target: "../outside" },
    { name: "d00r/canary", body: "evil" },
    { name: "xx/outside/canary", body: "evil" },
    { name: "twin", type: "1", target: "xx/outside/canary" },
  ];
  const map = "2\n512\n4\n2048\n0\n".padEnd(512, "\0");
  const sparse: Member[] = [
    pax({ "GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "2048" }),
    { name: "sparse", body: `${map}data` },
    pax({ "GNU.sparse.size": "64", "GNU.sparse.map": "8,4", "GNU.sparse.name": "other" }),
    { name: "x", body: "data" },
  ];
  const records: Member[] = [
    pax({ mtime: "1.5", comment: "all" }, "g"),
    pax({ path: "long/".repeat(30) + "name", uid: "70000", "SCHILY.xattr.user.a": "b" }),
    { name: "short", body: "x" },
    pax({ linkpath: outside, "LIBARCHIVE.xattr.user.c": "ZGQ" }),
    { name: "far", type: "2" },
  ];
  const gnu: Member[] = [
    { name: "././@LongLink", type: "L", body: `${"n".repeat(120)}\0`, magic: "ustar  \0" },
    { name: "n", body: "y", magic: "ustar  \0" },
    { name: "././@LongLink", type: "K", body: `${outside}\0`, magic: "ustar  \0" },
    { name: "k", type: "2", magic: "ustar  \0" },
  ];
  const marks: Member[] = [
    { name: "dir/", type: "5" },
    { name: "dir/.wh..wh..opq" },
    { name: ".wh.gone" },
    { name: "device", type: "3" },
  ];
  return [...[tree, escapes, sparse, records, gnu, marks].map((it) => tar(...it)), oldSparse()];
}

/** Damages a copy: some bytes, the order of its blocks, its length; often with checksums made right. */
export function damage(archive: Bytes, random: Random): Bytes {
  let bytes = archive.slice();
  const blocks = bytes.length / 512;
  switch (random(8)) {
    case 0:
      bytes = bytes.slice(0, random(bytes.length));
      break;
    case 1: {
      const [from, to] = [random(blocks), random(blocks)];
      bytes.copyWithin(512 * to, 512 * from, 512 * (from + 1));
      break;
    }
    case 2: {
      const at = 512 * random(blocks);
      bytes = concat([bytes.slice(0, at), bytes.slice(at, at + 512), bytes.slice(at)]);
      break;
    }
    default:
      changeBytes(bytes, random);
  }
  if (random(4) > 0) signHeaders(bytes);
  return bytes;
}

/** What bytes of headers and records mean something. */
const TELLING = new TextEncoder().encode("\0./0123456789=\n -gxLKSDVM%");

function changeBytes(bytes: Bytes, random: Random): void {
  for (let left = 1 + random(6); left > 0; left--) {
    const block = 512 * random(bytes.length / 512);
    // The fields at the start of a block, or anywhere.
    const at = block +
      (random(2) === 0 ? random(512) : [0, 1, 2, 100, 124, 135, 156, 157][random(8)]!);
    bytes[at] = random(3) === 0 ? random(256) : TELLING[random(TELLING.length)]!;
  }
}

/** Signs each block that looks like a header, so that the damage in it is not found by its checksum. */
function signHeaders(bytes: Bytes): void {
  for (let at = 0; at + 512 <= bytes.length; at += 512) {
    const block = bytes.subarray(at, at + 512);
    const isHeader = block[257] === 0x75 && block[258] === 0x73; // "us" of "ustar"
    if (isHeader) sign(block);
  }
}

function oldSparse(): Bytes {
  const header = member({ name: "old", type: "S", size: 4, magic: "ustar  \0" });
  const octal = (at: number, value: number) =>
    new TextEncoder().encodeInto(value.toString(8).padStart(11, "0"), header.subarray(at));
  octal(386, 512);
  octal(398, 4);
  octal(483, 1024);
  sign(header);
  const body = new Uint8Array(512);
  body.set([1, 2, 3, 4]);
  return concat([header, body, tar({ name: "after", body: "z" })]);
}
