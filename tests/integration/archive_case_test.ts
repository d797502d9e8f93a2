/** Faults that users of other tar libraries met, each tried on ours; the links are to their reports. */
import { assert, assertEquals } from "@std/assert";
import { AT, close, getXattr, lstatAt, O, openAt, setXattr } from "../../ffi/mod.ts";
import { TarDecoder } from "../../src/archive/decode.ts";
import { Place } from "../../src/archive/place.ts";
import { packDir } from "../support/pack.ts";
import { member, pax, tar } from "../support/tar.ts";
import { tempDir } from "../support/temp_dir.ts";
import { assertSameTree, describeTree } from "../support/tree.ts";
import { unpackBytes, unpackStream } from "../support/unpack.ts";
import { run } from "../support/worst_tree.ts";

const isRoot = Deno.uid() === 0;
const text = (path: string) => Deno.readTextFileSync(path);
const mode = (path: string) => (lstatAt(AT.AT_FDCWD, path).mode & 0o7777).toString(8);

/** Packs with GNU tar, unpacks with ours, and compares. */
async function compare(temp: string, ...options: readonly string[]): Promise<void> {
  // GNU's format and POSIX's first one know whole seconds only.
  if (!options.includes("--format=pax")) {
    await run("find", `${temp}/root`, "-exec", "touch", "-h", "-d", "@1234567890", "{}", "+");
  }
  await run("tar", ...options, "-cf", `${temp}/x.tar`, "-C", `${temp}/root`, ".");
  await unpackStream(`${temp}/x.tar`, `${temp}/again`);
  assertSameTree(describeTree(`${temp}/again`), describeTree(`${temp}/root`));
}

function write(path: string, body: string): void {
  Deno.mkdirSync(path.replace(/\/[^/]*$/, ""), { recursive: true });
  Deno.writeTextFileSync(path, body);
}

Deno.test("case 57: pax headers with fractions of times and 300-character names (denoland/std 6083)", async () => {
  using temp = tempDir();
  write(`${temp.path}/root/${"long-directory/".repeat(15)}${"n".repeat(80)}`, "x");
  write(`${temp.path}/root/${"n".repeat(255)}`, "y");
  await run("touch", "-d", "2020-01-02 03:04:05.987654321", `${temp.path}/root/${"n".repeat(255)}`);
  await compare(temp.path, "--format=pax");
});

Deno.test("case 58: GNU's long names and link targets (denoland/std 3048)", async () => {
  using temp = tempDir();
  for (const length of [99, 100, 101, 254, 255]) {
    write(`${temp.path}/root/${"n".repeat(length)}`, `${length}`);
    Deno.symlinkSync("t".repeat(length), `${temp.path}/root/link-${length}`);
    Deno.linkSync(`${temp.path}/root/${"n".repeat(length)}`, `${temp.path}/root/hard-${length}`);
  }
  Deno.symlinkSync("t".repeat(1000), `${temp.path}/root/link-1000`);
  await compare(temp.path, "--format=gnu");
});

Deno.test("case 59: a size above 8 GiB in base 256 (node-tar 188)", async () => {
  const size = new Uint8Array([0x80, 0, 0, 0, 0, 0, 0, 2, 0x40, 0, 0, 0]);
  const sizes: number[] = [];
  const decoder = new TarDecoder({
    begin: ({ size }) => sizes.push(size),
    data: () => {},
    hole: () => {},
    end: () => {},
  }, new Place("x.tar"));
  decoder.push(member({ name: "huge", size }));
  assertEquals(sizes, [9 * 2 ** 30]);
  using temp = tempDir();
  Deno.mkdirSync(`${temp.path}/root`);
  using file = Deno.openSync(`${temp.path}/root/huge`, { create: true, write: true });
  file.truncateSync(9 * 2 ** 30);
  await unpackBytes(await packDir(`${temp.path}/root`), `${temp.path}/again`);
  assertEquals(Deno.statSync(`${temp.path}/again/huge`).size, 9 * 2 ** 30);
});

Deno.test("case 60: a name whose character lies across the field's edge (tar-stream 66)", async () => {
  for (const format of ["gnu", "pax"]) {
    using temp = tempDir();
    for (let length = 95; length <= 100; length++) {
      write(`${temp.path}/root/${"a".repeat(length)}é`, "x");
      Deno.symlinkSync(`${"t".repeat(length)}é`, `${temp.path}/root/link-${length}`);
    }
    await compare(temp.path, `--format=${format}`);
  }
});

Deno.test("case 61: a sparse file keeps content and holes (tar-stream 63)", async () => {
  for (const format of ["gnu", "pax"]) {
    using temp = tempDir();
    Deno.mkdirSync(`${temp.path}/root`);
    using file = Deno.openSync(`${temp.path}/root/holey`, { create: true, write: true });
    for (let at = 0; at < 2 ** 30; at += 2 ** 26) {
      file.seekSync(at, Deno.SeekMode.Start);
      file.writeSync(new TextEncoder().encode(`data at ${at}`));
    }
    file.truncateSync(2 ** 30);
    await compare(temp.path, "-S", `--format=${format}`);
    assert(lstatAt(AT.AT_FDCWD, `${temp.path}/again/holey`).diskBytes < 2 ** 20);
  }
});

Deno.test("case 62: a relative link's target is unchanged (node-tar 54)", async () => {
  using temp = tempDir();
  const targets = ["../../x", "../", ".", "./a//b", "/usr/bin/python3", "a/../../b", " "];
  await unpackBytes(
    tar(...targets.map((target, i) => ({ name: `bin/${i}`, type: "2", target }))),
    temp.path,
  );
  targets.forEach((target, i) => assertEquals(Deno.readLinkSync(`${temp.path}/bin/${i}`), target));
});

Deno.test("case 63: names with //, ./ and a slash at the end land inside (node-tar 411)", async () => {
  using temp = tempDir();
  const root = `${temp.path}/root`;
  await unpackBytes(
    tar(
      { name: "code//a", body: "1" },
      { name: "./code/./b", body: "2" },
      { name: "code/d///", type: "5", mode: 0o755 },
      { name: "code/d//f", body: "3" },
      { name: "old/", type: "0", mode: 0o755 },
    ),
    root,
  );
  assertEquals(
    ["code/a", "code/b", "code/d/f"].map((name) => text(`${root}/${name}`)).join(""),
    "123",
  );
  assert(Deno.lstatSync(`${root}/old`).isDirectory);
  assertEquals([...Deno.readDirSync(temp.path)].length, 1);
});

Deno.test("case 66: owner, then attributes and mode, then times (borg 1069)", async () => {
  using temp = tempDir();
  // Version 2 of the attribute, with cap_net_raw permitted and effective (linux/capability.h).
  const capability = new Uint8Array(20);
  new DataView(capability.buffer).setUint32(0, 0x02000001, true);
  capability[5] = 0x20;
  const [uid, gid] = isRoot ? [1234, 5678] : [Deno.uid()!, Deno.gid()!];
  const summary = await unpackBytes(
    tar(
      pax({ "SCHILY.xattr.security.capability": capability, mtime: "1234567890.5" }),
      { name: "ping", body: "x", mode: 0o6755, uid, gid },
    ),
    temp.path,
    { owners: isRoot ? "keep" : "root", isMapped: () => isRoot },
  );
  const status = lstatAt(AT.AT_FDCWD, `${temp.path}/ping`);
  assertEquals(status.mtimeNs, 1_234_567_890_500_000_000n);
  assertEquals([status.uid, status.gid], [uid, gid]);
  const fd = openAt(AT.AT_FDCWD, `${temp.path}/ping`, O.O_CLOEXEC);
  try {
    if (isRoot) {
      assertEquals(mode(`${temp.path}/ping`), "6755");
      assertEquals(getXattr(fd, "security.capability"), capability);
    } else {
      assertEquals([summary.xattrsLost, summary.ownersLost], [1, 1]);
      assert(summary.lost.includes('"ping": attribute security.capability'));
      assertEquals(mode(`${temp.path}/ping`), "755");
    }
  } finally {
    close(fd);
  }
});

Deno.test("case 67: special bits and closed modes are kept (void-docs 811)", async () => {
  using temp = tempDir();
  const modes = [0o4755, 0o2755, 0o1777, 0o0000, 0o0111, 0o7777];
  await unpackBytes(
    tar(...modes.map((mode, i) => ({ name: `${i}`, mode, body: "x" }))),
    temp.path,
  );
  assertEquals(
    modes.map((_, i) => mode(`${temp.path}/${i}`)),
    modes.map((mode) => mode.toString(8)),
  );
});

Deno.test("case 68: entries whose bytes nobody takes do not stop the reading (denoland/std 6019)", () => {
  const names: string[] = [];
  const decoder = new TarDecoder({
    begin: ({ name }) => names.push(new TextDecoder().decode(name)),
    data: () => {},
    hole: () => {},
    end: () => {},
  }, new Place("x.tar"));
  const bytes = tar(
    ...Array.from({ length: 100 }, (_, i) => ({ name: `f${i}`, body: "x".repeat(i * 100) })),
  );
  for (let at = 0; at < bytes.length; at += 999) decoder.push(bytes.slice(at, at + 999));
  decoder.finish(false);
  assertEquals(names.length, 100);
});

Deno.test("attributes that cannot be kept are counted, and named", async () => {
  using temp = tempDir();
  const summary = await unpackBytes(
    tar(
      pax({
        "SCHILY.xattr.user.kept": "v",
        "LIBARCHIVE.xattr.user.both": "dg",
        "SCHILY.xattr.user.both": "raw",
        "LIBARCHIVE.xattr.user.of%20it": "AAE",
        "SCHILY.xattr.security.selinux": "label",
        "SCHILY.xattr.system.posix_acl_access": "acl",
      }),
      { name: "file", mode: 0o444 },
    ),
    temp.path,
  );
  const fd = openAt(AT.AT_FDCWD, `${temp.path}/file`, O.O_CLOEXEC);
  const value = (name: string) => [...getXattr(fd, name)];
  assertEquals(value("user.kept"), [0x76]);
  assertEquals(value("user.both"), [...new TextEncoder().encode("raw")]);
  assertEquals(value("user.of it"), [0, 1]);
  close(fd);
  assertEquals([summary.xattrsLost, summary.lost], [2, [
    '"file": attribute security.selinux',
    '"file": attribute system.posix_acl_access',
  ]]);
});

Deno.test("packTree() keeps a file's capability, and unpack() gives it back", async (t) => {
  await t.step({
    name: "as root",
    ignore: !isRoot,
    fn: async () => {
      using temp = tempDir();
      write(`${temp.path}/root/ping`, "x");
      const capability = new Uint8Array(20);
      new DataView(capability.buffer).setUint32(0, 0x02000001, true);
      capability[5] = 0x20;
      const fd = openAt(AT.AT_FDCWD, `${temp.path}/root/ping`, O.O_CLOEXEC);
      setXattr(fd, "security.capability", capability);
      close(fd);
      await unpackBytes(await packDir(`${temp.path}/root`), `${temp.path}/again`);
      const options = { xattrs: true };
      assertSameTree(
        describeTree(`${temp.path}/again`, options),
        describeTree(`${temp.path}/root`, options),
      );
    },
  });
});
