/** Tests of unpacking onto a real file system. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { concat } from "@std/bytes/concat";
import { gzipSync } from "node:zlib";
import { AT, lstatAt } from "../../ffi/mod.ts";
import { unpackInto } from "../../src/archive/mod.ts";
import { ArchiveError, HostError } from "../../src/errors.ts";
import { pax, tar } from "../support/tar.ts";
import { tempDir } from "../support/temp_dir.ts";
import { unpackBytes } from "../support/unpack.ts";

const gzip = (bytes: Uint8Array) => new Uint8Array(gzipSync(bytes));
const text = (path: string) => Deno.readTextFileSync(path);
const mode = (path: string) => Deno.lstatSync(path).mode! & 0o7777;

Deno.test("unpack() takes gzip in one member, in several, and padded with zeros", async () => {
  const bytes = tar({ name: "a", body: "hello" });
  const several = concat([gzip(bytes.slice(0, 700)), gzip(bytes.slice(700))]);
  for (const whole of [gzip(bytes), several, concat([gzip(bytes), new Uint8Array(512)])]) {
    for (const step of [1, 65536]) {
      using temp = tempDir();
      const summary = await unpackBytes(whole, temp.path, { step });
      assertEquals([summary.entries, summary.bytes, text(`${temp.path}/a`)], [1, 5, "hello"]);
    }
  }
});

Deno.test("unpack() refuses damaged gzip and other formats in one line", async () => {
  const bytes = gzip(tar({ name: "a", body: "hello" }));
  const refuse = async (damaged: Uint8Array<ArrayBuffer>) => {
    using temp = tempDir();
    const { message } = await assertRejects(
      () => unpackBytes(damaged, temp.path, { name: "x.tar.gz" }),
      ArchiveError,
    );
    assert(!message.includes("\n"));
    return message.replace('Cannot unpack "x.tar.gz": ', "");
  };
  for (let length = 2; length < bytes.length; length += 7) {
    assertStringIncludes(await refuse(bytes.slice(0, length)), "its gzip data is damaged");
  }
  const flipped = bytes.slice();
  flipped[flipped.length - 6]! ^= 1;
  assertStringIncludes(await refuse(flipped), "its gzip data is damaged");
  const junk = concat([bytes, new TextEncoder().encode("junk at the end")]);
  assertStringIncludes(await refuse(junk), "its gzip data is damaged");
  assertEquals(await refuse(new Uint8Array(0)), "it is empty");
  assertEquals(await refuse(gzip(new Uint8Array(0))), "it is empty");
  assertEquals(
    await refuse(gzip(new Uint8Array(9))),
    "it is not a tar archive, plain or in gzip or zstd",
  );
  const xz = new Uint8Array([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0]);
  assertEquals(await refuse(xz), "it is a xz archive, not a tar, plain or in gzip or zstd");
});

Deno.test("unpack() gives the modes of the archive whatever the umask, also to closed directories", async () => {
  using temp = tempDir();
  const umask = Deno.umask(0o077);
  try {
    await unpackBytes(
      tar(
        { name: "closed/", type: "5", mode: 0o000, mtime: 5 },
        { name: "closed/inner/", type: "5", mode: 0o500, mtime: 6 },
        { name: "closed/inner/file", mode: 0o000, body: "x" },
        { name: "sticky/", type: "5", mode: 0o1777 },
        { name: "missing/parent", mode: 0o644 },
        { name: "pipe", type: "6", mode: 0o622 },
      ),
      `${temp.path}/root`,
    );
  } finally {
    Deno.umask(umask);
  }
  const at = (path: string) => `${temp.path}/root/${path}`;
  assertEquals(mode(at("closed")), 0);
  assertEquals(lstatAt(AT.AT_FDCWD, at("closed")).mtimeNs, 5_000_000_000n);
  assertEquals(mode(at("sticky")), 0o1777);
  assertEquals(mode(at("missing")), 0o755);
  assertEquals(mode(at("pipe")), 0o622);
  assert(Deno.lstatSync(at("pipe")).isFifo);
  Deno.chmodSync(at("closed"), 0o700);
  assertEquals(mode(at("closed/inner")), 0o500);
  assertEquals(mode(at("closed/inner/file")), 0);
});

Deno.test("unpack() normalises names that mean the same place (node-tar 411)", async () => {
  using temp = tempDir();
  await unpackBytes(
    tar(
      { name: "./", type: "5", mode: 0o711 },
      { name: "./a//b/./c", body: "1" },
      { name: "d//", type: "5" },
    ),
    temp.path,
  );
  assertEquals(text(`${temp.path}/a/b/c`), "1");
  assert(Deno.statSync(`${temp.path}/d`).isDirectory);
  assertEquals(mode(temp.path), 0o711);
});

Deno.test("unpack() lets the last entry of a name win, as GNU tar", async () => {
  using temp = tempDir();
  const at = (path: string) => `${temp.path}/${path}`;
  await unpackBytes(
    tar(
      { name: "twice", body: "first, longer" },
      { name: "other", type: "1", target: "twice" },
      { name: "twice", body: "second" },
      { name: "link", type: "2", target: "nowhere" },
      { name: "link", type: "2", target: "elsewhere" },
      { name: "dir", type: "5", mode: 0o700 },
      { name: "dir", type: "5", mode: 0o750 },
      { name: "self", body: "x" },
      { name: "self", type: "1", target: "self" },
    ),
    temp.path,
  );
  assertEquals([text(at("twice")), text(at("other"))], ["second", "first, longer"]);
  assertEquals([Deno.readLinkSync(at("link")), text(at("self"))], ["elsewhere", "x"]);
  assertEquals(mode(at("dir")), 0o750);
});

Deno.test("unpack() refuses a link to nothing, and a name that is too long", async () => {
  using temp = tempDir();
  const refuse = (bytes: Uint8Array<ArrayBuffer>) =>
    assertRejects(() => unpackBytes(bytes, temp.path), ArchiveError);
  const link = await refuse(tar({ name: "l", type: "1", target: "nothing" }));
  assertStringIncludes(link.message, 'links to "nothing", which does not exist');
  const long = await refuse(tar(pax({ path: "n".repeat(256) }), { name: "n" }));
  assertStringIncludes(long.message, "has a name that is too long");
});

Deno.test("unpack() keeps names of any bytes, long paths and newlines", async () => {
  using temp = tempDir();
  const path = `${"directory-of-some-length/".repeat(20)}name\nwith newline`;
  await unpackBytes(
    tar(
      pax({ path: new Uint8Array([0x64, 0x2f, 0xff, 0x80]) }),
      { name: "x", body: "bytes" },
      pax({ path }),
      { name: "x", body: "long" },
    ),
    temp.path,
  );
  assertEquals(text(`${temp.path}/${path}`), "long");
  assertEquals(
    lstatAt(
      AT.AT_FDCWD,
      new Uint8Array(
        concat([new TextEncoder().encode(`${temp.path}/d/`), new Uint8Array([0xff, 0x80])]),
      ),
    ).size,
    5,
  );
});

Deno.test("unpack() goes through more directories than descriptors are kept", async () => {
  using temp = tempDir();
  const names = Array.from({ length: 400 }, (_, i) => `d${i % 100}/e/f${i}`);
  await unpackBytes(tar(...names.map((name) => ({ name, body: name }))), temp.path);
  for (const name of names) assertEquals(text(`${temp.path}/${name}`), name);
});

Deno.test("unpack() says that the file system refuses, and stops when it is told to", async () => {
  using temp = tempDir();
  const stop = AbortSignal.abort();
  await assertRejects(
    () => unpackBytes(tar({ name: "a" }), temp.path, { signal: stop }),
    DOMException,
  );
  async function* failing(): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    yield gzip(tar({ name: "a" })).slice(0, 20);
    await Promise.reject(new HostError("Cannot read: it is gone"));
  }
  await assertRejects(
    () => unpackInto(temp.path, failing(), { name: "x", owners: "root" }),
    HostError,
    "it is gone",
  );
});
