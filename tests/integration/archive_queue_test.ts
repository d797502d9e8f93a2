/** Tests of small files, which a thread makes: what comes out is what one after the other would give. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { Batch, NR } from "../../ffi/mod.ts";
import { ArchiveError } from "../../src/errors.ts";
import { type Member, tar } from "../support/tar.ts";
import { tempDir } from "../support/temp_dir.ts";
import { unpackBytes } from "../support/unpack.ts";

/** More than one lot, and more than two. */
const MANY = 700;

function files(count: number, prefix = "f"): Member[] {
  return Array.from({ length: count }, (_, i) => ({
    name: `${prefix}${i}`,
    body: `${i}`.repeat(i % 900),
    mode: i % 2 === 0 ? 0o640 : 0o755,
    mtime: i,
  }));
}

async function openFiles(work: () => Promise<void>): Promise<number> {
  const count = () => [...Deno.readDirSync("/proc/self/fd")].length;
  const before = count();
  await work();
  return count() - before;
}

Deno.test("many small files come out whole, with their modes and times, whatever the pieces", async () => {
  for (const step of [777, 65536, 1 << 20]) {
    using temp = tempDir();
    const members = files(MANY);
    const { entries, bytes } = await unpackBytes(tar(...members), temp.path, { step });
    assertEquals(entries, MANY);
    assertEquals(bytes, members.reduce((sum, { body }) => sum + body!.length, 0));
    for (const { name, body, mode, mtime } of members) {
      const path = `${temp.path}/${name}`;
      const info = Deno.lstatSync(path);
      assertEquals(Deno.readTextFileSync(path), body);
      assertEquals([info.mode! & 0o7777, info.mtime!.getTime()], [mode, 1000 * mtime!]);
    }
  }
});

Deno.test("a link to a file that is on its way finds it, and the last of a name is the one that stays", async () => {
  using temp = tempDir();
  await unpackBytes(
    tar(
      { name: "a", body: "first" },
      { name: "hard", type: "1", target: "a" },
      { name: "a", body: "second" },
      ...files(MANY),
      { name: "late", type: "1", target: "f699" },
      { name: "f1", body: "again" },
      { name: "f1", body: "and again" },
      { name: "f2", body: "x".repeat(200_000) },
    ),
    temp.path,
  );
  const text = (name: string) => Deno.readTextFileSync(`${temp.path}/${name}`);
  assertEquals([text("hard"), text("a"), text("f1")], ["first", "second", "and again"]);
  assertEquals(text("f2").length, 200_000);
  assertEquals(Deno.statSync(`${temp.path}/late`).nlink, 2);
});

Deno.test("a name is of one kind, also while its file is on its way", async () => {
  const wrong: readonly (readonly [Member, RegExp])[] = [
    [{ name: "f5/below" }, /"f5\/below" .*lies beneath what is a link or a file/],
    [{ name: "f5/", type: "5" }, /"f5\/" .*is a directory, but its name is already that of a file/],
    [{ name: "f5", type: "2", target: "x" }, /"f5" .*is a symbolic link, but .* of a file/],
    [{ name: "f5", type: "6" }, /"f5" .*is a fifo, but .* of a file/],
  ];
  for (const count of [10, MANY]) {
    for (const [member, state] of wrong) {
      using temp = tempDir();
      const left = await openFiles(async () => {
        const { message } = await assertRejects(
          () => unpackBytes(tar(...files(count), member), temp.path),
          ArchiveError,
        );
        assert(state.test(message), message);
      });
      assertEquals(left, 0);
    }
    using temp = tempDir();
    const late = tar({ name: "f5/", type: "5" }, ...files(count), { name: "end" });
    const { message } = await assertRejects(() => unpackBytes(late, temp.path), ArchiveError);
    assert(/entry "f5" at byte \d+ is a file, but its name is already/.test(message), message);
  }
});

Deno.test("thousands of directories between files leave few descriptors open", async () => {
  using temp = tempDir();
  const most = 600;
  const members = Array.from({ length: 4000 }, (_, i): Member[] => [
    { name: `d${i}/e/`, type: "5" },
    ...(i % 100 === 0 ? [{ name: `d${i}/e/f`, body: "x" }] : []),
  ]).flat();
  let peak = 0;
  const count = () => [...Deno.readDirSync("/proc/self/fd")].length;
  const onProgress = () => peak = Math.max(peak, count());
  const before = count();
  assertEquals(
    await openFiles(async () => {
      await unpackBytes(tar(...members), temp.path, { step: 4096, onProgress });
    }),
    0,
  );
  assert(peak - before < most, `${peak - before} descriptors`);
});

// A thread tells of its end in memory, and the event loop of it later.
const sanitizeOps = false;

Deno.test("a batch makes its calls in order, up to the first that fails, on either thread", {
  sanitizeOps,
}, () => {
  for (const run of [(it: Batch) => it.run(), (it: Batch) => (it.start(), it.wait())]) {
    using batch = new Batch(8, 4096);
    for (let round = 0; round < 3; round++) {
      const zero = batch.place(new TextEncoder().encode("/dev/zero\0"));
      const room = batch.reserve(16);
      const opens = batch.add(NR.openat, -100, zero, 0, 0);
      const reads = batch.addTo(opens, NR.read, room, 16);
      const closes = batch.addTo(opens, NR.close);
      const fails = batch.addTo(opens, NR.close);
      const last = batch.add(NR.openat, -100, zero, 0, 0);
      assertEquals(run(batch), fails);
      assertEquals([batch.result(reads), batch.result(closes), batch.result(fails)], [16, 0, -9]);
      assertEquals(batch.result(last), 0);
      assertEquals(batch.run(last), null);
      assertEquals(batch.result(last), batch.result(opens));
      const again = batch.addTo(last, NR.close);
      assertEquals([batch.run(again), batch.copy(room, 16)], [null, new Uint8Array(16)]);
      batch.clear();
      assertEquals(batch.count, 0);
    }
  }
});
