/** Tests of archives in zstd: one frame or several, whole or not. */
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { concat } from "@std/bytes/concat";
import { constants, zstdCompressSync } from "node:zlib";
import { ArchiveError } from "../../src/errors.ts";
import { tar } from "../support/tar.ts";
import { tempDir } from "../support/temp_dir.ts";
import { unpackBytes } from "../support/unpack.ts";

const checked = { params: { [constants.ZSTD_c_checksumFlag]: 1 } };
const zstd = (bytes: Uint8Array, options = checked) =>
  new Uint8Array(zstdCompressSync(bytes, options));

/** A frame that holds no data, as pzstd writes one before each of its own (RFC 8878, 3.1.2). */
function skippable(length: number): Uint8Array<ArrayBuffer> {
  const frame = new Uint8Array(8 + length).fill(0x5a);
  frame.set([0x50, 0x2a, 0x4d, 0x18, length, 0, 0, 0]);
  return frame;
}

// Many blocks, of which one alone gives more bytes than fit into a small buffer.
const body = Array.from({ length: 300_000 }, (_, i) => `${i % 977} `).join("");
const archive = tar({ name: "a", body }, { name: "b", body: "x" });

Deno.test("unpack() takes zstd in one frame, in several, and with frames to be skipped", async () => {
  const [first, second] = [archive.slice(0, 5000), archive.slice(5000)];
  const wholes = [
    zstd(archive),
    zstd(archive, { params: {} }),
    concat([zstd(first), zstd(new Uint8Array(0)), zstd(second)]),
    concat([skippable(4), zstd(first), skippable(100), zstd(second), skippable(0)]),
  ];
  for (const whole of wholes) {
    for (const step of [1, 7, 65536]) {
      using temp = tempDir();
      await unpackBytes(whole, temp.path, { step });
      assertEquals(Deno.readTextFileSync(`${temp.path}/a`), body);
    }
  }
});

Deno.test("unpack() refuses damaged zstd, cut at any byte", async () => {
  const refuse = async (bytes: Uint8Array<ArrayBuffer>) => {
    using temp = tempDir();
    const { message } = await assertRejects(() => unpackBytes(bytes, temp.path), ArchiveError);
    return message.replace('Cannot unpack "x.tar": its zstd data is damaged ', "");
  };
  const whole = zstd(archive);
  for (let length = 4; length < whole.length; length += length < 200 ? 1 : 37) {
    assertStringIncludes(await refuse(whole.slice(0, length)), "(it is truncated)");
  }
  const flipped = whole.slice();
  flipped[flipped.length - 1]! ^= 1;
  assertStringIncludes(await refuse(flipped), "checksum");
  for (let at = 5; at < whole.length; at += 29) {
    const damaged = whole.slice();
    damaged[at]! ^= 0x11;
    await refuse(damaged);
  }
  const junk = concat([whole, new TextEncoder().encode("junk")]);
  assertStringIncludes(await refuse(junk), "(other data follows a frame)");
});
