/** Tests of packing a live tree. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { AT, close, lstatAt, O, openAt } from "../../ffi/mod.ts";
import { type PackNote, packTree } from "../../src/archive/mod.ts";
import { ArchiveError, HostError } from "../../src/errors.ts";
import { packDir } from "../support/pack.ts";
import { tempDir } from "../support/temp_dir.ts";
import { assertSameTree, describeTree } from "../support/tree.ts";
import { unpackBytes } from "../support/unpack.ts";
import { addSparseFiles, makeWorstTree, run, setAttribute } from "../support/worst_tree.ts";

const isRoot = Deno.uid() === 0;
const WITH_ALL = { owners: isRoot, xattrs: true };
const KEEP = {
  owners: isRoot ? "keep" : "root",
  isMapped: (id: number) => isRoot || id === Deno.uid(),
} as const;

/** The names that an archive holds. */
async function list(bytes: Uint8Array<ArrayBuffer>): Promise<string[]> {
  using temp = tempDir();
  Deno.writeFileSync(`${temp.path}/x.tar`, bytes);
  return (await run("tar", "-tf", `${temp.path}/x.tar`)).split("\n").slice(0, -1);
}

async function makeTree(root: string): Promise<void> {
  await makeWorstTree(root);
  if (!isRoot) await run("chmod", "u+r", `${root}/mode-0`);
  addSparseFiles(root);
  setAttribute(`${root}/big`, "user.of.file", "a=b%\n");
  setAttribute(`${root}/sticky`, "user.of.directory", "");
}

Deno.test("packTree() and unpack() give the same tree again, plain and in gzip", async () => {
  using temp = tempDir();
  const root = `${temp.path}/root`;
  await makeTree(root);
  for (const level of [null, 1]) {
    const again = `${temp.path}/again-${level}`;
    await unpackBytes(await packDir(root, { level }), again, KEEP);
    assertSameTree(describeTree(again, WITH_ALL), describeTree(root, WITH_ALL));
    const blocks = (name: string) => lstatAt(AT.AT_FDCWD, name).diskBytes;
    for (const name of ["hole", "hole-at-start", "hole-at-end", "holes", "vast"]) {
      assert(blocks(`${again}/${name}`) <= blocks(`${root}/${name}`), name);
    }
  }
});

Deno.test("packTree() gives the same bytes for the same tree, wherever and whenever it was made", async () => {
  const make = async (root: string, names: readonly string[]) => {
    for (const name of names) {
      Deno.mkdirSync(`${root}/${name}`.replace(/\/[^/]*$/, ""), { recursive: true });
      Deno.writeTextFileSync(`${root}/${name}`, name);
    }
    await run("touch", "-d", "@1", ...names.map((name) => `${root}/${name}`));
  };
  using temp = tempDir();
  const names = ["b", "a", "é", "d/c", "d/B", "d-e", "d.f", "Z"];
  await make(`${temp.path}/one`, names);
  await make(`${temp.path}/two`, names.toReversed());
  for (const level of [null, 6]) {
    const options = { owners: "root", mtime: 1_700_000_000, level } as const;
    const one = await packDir(`${temp.path}/one`, options);
    assertEquals(await packDir(`${temp.path}/two`, options), one);
    assertEquals(await packDir(`${temp.path}/one`, options), one);
    // The header of gzip: no flags, no time (RFC 1952).
    if (level !== null) assertEquals([...one.slice(0, 8)], [0x1f, 0x8b, 8, 0, 0, 0, 0, 0]);
  }
});

Deno.test("packTree() sorts by bytes, a directory before what is in it", async () => {
  using temp = tempDir();
  for (const name of ["b", "a-", "a/z", "a/b", "a.", "B"]) {
    Deno.mkdirSync(`${temp.path}/${name}`.replace(/\/[^/]*$/, ""), { recursive: true });
    Deno.writeTextFileSync(`${temp.path}/${name}`, "");
  }
  const expected = ["./", "B", "a/", "a/b", "a/z", "a-", "a.", "b"];
  assertEquals(await list(await packDir(temp.path)), expected);
});

Deno.test("packTree() writes owners and times by policy", async () => {
  using temp = tempDir();
  Deno.writeTextFileSync(`${temp.path}/file`, "x");
  const describe = async (options: Parameters<typeof packDir>[1]) => {
    Deno.writeFileSync(`${temp.path}/x.tar`, await packDir(temp.path, options));
    const lines = await run(
      "tar",
      "--numeric-owner",
      "--utc",
      "-tvf",
      `${temp.path}/x.tar`,
      "file",
    );
    await Deno.remove(`${temp.path}/x.tar`);
    return lines;
  };
  const root = await describe({ owners: "root", mtime: 86_400 });
  assert(/ 0\/0 .* 1970-01-02 00:00 file\n$/.test(root), root);
  const kept = await describe({ owners: "keep" });
  assertStringIncludes(kept, ` ${Deno.uid()}/${Deno.gid()} `);
});

Deno.test("packTree() leaves sockets and devices out, and says so", async () => {
  using temp = tempDir();
  using socket = Deno.listen({ transport: "unix", path: `${temp.path}/socket\n` });
  assert(socket.addr);
  Deno.writeTextFileSync(`${temp.path}/file`, "x");
  const notes: PackNote[] = [];
  const bytes = await packDir(temp.path, { onNote: (note) => notes.push(note) });
  assertEquals(await list(bytes), ["./", "file"]);
  assertEquals(notes, [{ name: '"socket\\n"', state: "is a socket, which is left out" }]);
});

Deno.test("packTree() follows no link, and opens no pipe", async () => {
  using temp = tempDir();
  const root = `${temp.path}/root`;
  Deno.mkdirSync(root);
  Deno.mkdirSync(`${temp.path}/outside`);
  Deno.writeTextFileSync(`${temp.path}/outside/secret`, "secret");
  Deno.symlinkSync("../outside", `${root}/directory`);
  Deno.symlinkSync("../outside/secret", `${root}/file`);
  await run("mkfifo", `${root}/pipe`);
  const bytes = await packDir(root);
  assertEquals(await list(bytes), ["./", "directory", "file", "pipe"]);
  assert(!new TextDecoder("latin1").decode(bytes).includes("secret\0secret"));
});

Deno.test("packTree() fails when a file changes while it is read, or notes it", async () => {
  using temp = tempDir();
  const file = `${temp.path}/file`;
  const pack = async (
    onChange: "fail" | "note",
    notes: PackNote[],
    change: () => void,
    level: number | null = null,
  ) => {
    Deno.writeFileSync(file, new Uint8Array(1 << 20).fill(0x61));
    const dir = openAt(AT.AT_FDCWD, temp.path, O.O_DIRECTORY | O.O_CLOEXEC);
    try {
      const pieces: Uint8Array[] = [];
      const packed = packTree([{ dir, at: "" }], {
        ...{ name: "tree", owners: "keep", mtime: "keep", level, whiteouts: "plain" },
        // In gzip nothing is given before all is read.
        onProgress: () => level !== null && change(),
        onChange,
        onNote: (note) => notes.push(note),
      });
      for await (const piece of packed) {
        if (pieces.length === 0) change();
        pieces.push(piece.slice());
      }
      return new Uint8Array(await new Blob(pieces as BlobPart[]).arrayBuffer());
    } finally {
      close(dir);
    }
  };
  const changes = [
    () => Deno.writeTextFileSync(file, "more", { append: true }),
    () => Deno.truncateSync(file, 5000),
    () => Deno.writeTextFileSync(file, "b"),
    () => Deno.utimeSync(file, 1, 1),
  ];
  for (const change of changes) {
    const error = await assertRejects(() => pack("fail", [], change), ArchiveError);
    assertEquals(
      error.message,
      'Cannot pack "tree": entry "file" changed while it was read. ' +
        "Pack it while nothing writes to it.",
    );
    await assertRejects(() => pack("fail", [], change, 1), ArchiveError, "changed while it was");
    const notes: PackNote[] = [];
    const bytes = await pack("note", notes, change);
    assertEquals(notes, [{ name: '"file"', state: "changed while it was read" }]);
    assertEquals(await list(bytes), ["./", "file"]); // whole, of the length that it had
    await unpackBytes(bytes, `${temp.path}.unpacked`);
    await Deno.remove(`${temp.path}.unpacked`, { recursive: true });
  }
});

Deno.test("packTree() joins trees at their places in one archive, with links between them", async () => {
  using temp = tempDir();
  for (const dir of ["one", "two"]) Deno.mkdirSync(`${temp.path}/${dir}`);
  Deno.writeTextFileSync(`${temp.path}/one/file`, "x");
  Deno.linkSync(`${temp.path}/one/file`, `${temp.path}/two/link`);
  const dirs = ["one", "two"].map((name) =>
    openAt(AT.AT_FDCWD, `${temp.path}/${name}`, O.O_DIRECTORY | O.O_CLOEXEC)
  );
  const parts = [{ dir: dirs[0]!, at: "" }, { dir: dirs[1]!, at: "usr/local" }];
  const options = { name: "x", owners: "root", mtime: 0, level: null, whiteouts: "plain" } as const;
  const bytes = await new Blob(
    await Array.fromAsync(packTree(parts, options), (piece) => piece.slice()),
  ).bytes();
  for (const dir of dirs) close(dir);
  await unpackBytes(bytes, `${temp.path}/again`);
  assertEquals(await list(bytes), ["./", "file", "usr/local/", "usr/local/link"]);
  assertEquals(lstatAt(AT.AT_FDCWD, `${temp.path}/again/usr/local/link`).links, 2);
});

Deno.test("packTree() names a file that it may not read, and one that lies too deep", async () => {
  using temp = tempDir();
  if (!isRoot) {
    Deno.mkdirSync(`${temp.path}/closed`);
    Deno.writeTextFileSync(`${temp.path}/closed/file`, "x", { mode: 0 });
    const { message } = await assertRejects(() => packDir(`${temp.path}/closed`), HostError);
    assertStringIncludes(message, 'entry "file": openat(');
    assertStringIncludes(message, "EACCES");
  }
  Deno.mkdirSync(`${temp.path}/deep/${"d/".repeat(257)}`, { recursive: true });
  const { message } = await assertRejects(() => packDir(`${temp.path}/deep`), ArchiveError);
  assertStringIncludes(message, "lies more than 256 directories deep");
});

Deno.test("packTree() stops when it is told to, and leaves nothing open", async () => {
  using temp = tempDir();
  Deno.writeFileSync(`${temp.path}/file`, new Uint8Array(3 << 20));
  const count = () => [...Deno.readDirSync("/proc/self/fd")].length;
  const before = count();
  for (const level of [null, 1]) {
    const stop = new AbortController();
    const onProgress = () => stop.abort();
    await assertRejects(
      () => packDir(temp.path, { level, signal: stop.signal, onProgress }),
      DOMException,
    );
  }
  assertEquals(count(), before);
});

Deno.test("names that are no UTF-8 pass through packTree() and unpack()", async () => {
  using temp = tempDir();
  const bytes = await packDir(await makeBytes(temp.path));
  await unpackBytes(bytes, `${temp.path}/again`);
  const before = await run(
    "bash",
    "-c",
    `cd '${temp.path}/root' && find . | LC_ALL=C sort | od -c`,
  );
  const after = await run(
    "bash",
    "-c",
    `cd '${temp.path}/again' && find . | LC_ALL=C sort | od -c`,
  );
  assertEquals(after, before);
});

async function makeBytes(temp: string): Promise<string> {
  await run(
    "bash",
    "-c",
    `mkdir '${temp}/root' && cd '${temp}/root' &&
    touch $'\\xff\\xfe' $'a\\x80b' && mkdir $'\\xe9' &&
    touch $'\\xe9/'"$(printf 'n%.0s' {1..200})"$'\\xff' && ln -s $'\\xff'"$(printf 't%.0s' {1..200})" link`,
  );
  return `${temp}/root`;
}
