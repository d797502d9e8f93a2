/** Attack tests: nothing in an archive reaches beyond the directory it is unpacked into. */
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { concat } from "@std/bytes/concat";
import { gzipSync } from "node:zlib";
import { ArchiveError } from "../../src/errors.ts";
import { type Member, member, pax, tar } from "../support/tar.ts";
import { tempDir } from "../support/temp_dir.ts";
import { describeTree } from "../support/tree.ts";
import { unpackBytes } from "../support/unpack.ts";

/** An attack on `outside`, given by its absolute path, from a root beside it. */
interface Attack {
  readonly deed: string;
  readonly members: (outside: string) => readonly Member[];
  /** What the refusal says. */
  readonly state: string;
}

const attacks: readonly Attack[] = [
  {
    deed: "write by an absolute name",
    members: (outside) => [{ name: `${outside}/new`, body: "evil" }],
    state: "has an absolute name",
  },
  {
    deed: 'write by ".." in a name',
    members: () => [{ name: "d/../../outside/new", body: "evil" }],
    state: 'has ".." in its name',
  },
  {
    deed: 'write by ".." in a pax name',
    members: () => [pax({ path: "../outside/new" }), { name: "innocent", body: "evil" }],
    state: 'has ".." in its name',
  },
  {
    deed: "write through a symbolic link of its own (CVE-2018-20482's kind)",
    members: (outside) => [
      { name: "door", type: "2", target: outside },
      { name: "door/new", body: "evil" },
    ],
    state: "lies beneath what is a link or a file",
  },
  {
    deed: "write through a link in the middle of a name",
    members: () => [
      { name: "a/door", type: "2", target: "../../outside" },
      { name: "a/door/b/new", body: "evil" },
    ],
    state: "lies beneath what is a link or a file",
  },
  {
    deed: "overwrite the file that a symbolic link leads to",
    members: (outside) => [
      { name: "door", type: "2", target: `${outside}/canary` },
      { name: "door", body: "evil" },
    ],
    state: "is a file, but its name is already that of a symbolic link",
  },
  {
    deed: "change the directory that a symbolic link leads to",
    members: (outside) => [
      { name: "door", type: "2", target: outside },
      { name: "door", type: "5", mode: 0o777, mtime: 1 },
    ],
    state: "is a directory, but its name is already that of a symbolic link",
  },
  {
    deed: "replace a directory by a link after it was opened (CVE-2021-32803)",
    members: (outside) => [
      { name: "door", type: "5" },
      { name: "door/x", type: "2", target: "y" },
      { name: "door/x", type: "5" },
      { name: "door/x", type: "2", target: outside },
      { name: "door/x/new", body: "evil" },
    ],
    state: "is a directory, but its name is already that of a symbolic link",
  },
  {
    deed: "take a file in by an absolute hard link",
    members: (outside) => [{ name: "canary", type: "1", target: `${outside}/canary` }],
    state: "has an absolute link target",
  },
  {
    deed: 'take a file in by a hard link with ".."',
    members: () => [{ name: "canary", type: "1", target: "../outside/canary" }],
    state: 'has ".." in its link target',
  },
  {
    deed: "take a file in by a hard link through a symbolic link",
    members: (outside) => [
      { name: "door", type: "2", target: outside },
      { name: "canary", type: "1", target: "door/canary" },
    ],
    state: "lies beneath what is a link or a file",
  },
  {
    deed: "write through a hard link to a symbolic link",
    members: (outside) => [
      { name: "door", type: "2", target: `${outside}/canary` },
      { name: "copy", type: "1", target: "door" },
      { name: "copy", body: "evil" },
    ],
    state: "is a file, but its name is already that of a symbolic link",
  },
  {
    deed: "write through a file",
    members: () => [{ name: "a", body: "x" }, { name: "a/new", body: "evil" }],
    state: "lies beneath what is a link or a file",
  },
  {
    deed: "replace the root",
    members: (outside) => [{ name: "./", type: "2", target: outside }],
    state: "replaces the root",
  },
  {
    deed: "hide a name behind a NUL byte",
    members: () => [pax({ path: "a\0/../../outside/new" }), { name: "a", body: "evil" }],
    state: "has a NUL byte in its name",
  },
  {
    deed: "make a device",
    members: () => [{ name: "sda", type: "4", mode: 0o666 }],
    state: "is a device",
  },
  {
    deed: "hide where a link leads behind a NUL byte",
    members: (outside) => [pax({ linkpath: `${outside}\0/x` }), { name: "a", type: "2" }],
    state: "has a NUL byte in its link target",
  },
  {
    deed: "make a link that leads nowhere",
    members: () => [{ name: "a", type: "2" }],
    state: "has no link target",
  },
  {
    deed: "use a name for a directory and a file",
    members: () => [{ name: "a/", type: "5" }, { name: "a", body: "x" }],
    state: "is a file, but its name is already that of a directory",
  },
  {
    deed: "use a name for a file and a pipe",
    members: () => [{ name: "a", body: "x" }, { name: "a", type: "6" }],
    state: "is a fifo, but its name is already that of a file",
  },
  {
    deed: "use a name for a directory and a hard link",
    members:
      () => [{ name: "a" }, { name: "d/", type: "5" }, { name: "d", type: "1", target: "a" }],
    state: "is a file, but its name is already that of a directory",
  },
  {
    deed: "take in a directory by a hard link",
    members: () => [{ name: "d/", type: "5" }, { name: "l", type: "1", target: "d" }],
    state: "which is a directory",
  },
  {
    deed: "take in the root by a hard link",
    members: () => [{ name: "l", type: "1", target: "./" }],
    state: "which is a directory",
  },
  {
    deed: "claim a size that cannot be",
    members: () => [{ name: "a", size: new Uint8Array(12).fill(0xff) }],
    state: "has a negative size",
  },
  {
    deed: "claim a size that overflows",
    members: () => [{ name: "a", size: new Uint8Array([0x80, ...new Array(11).fill(0x7f)]) }],
    state: "has a malformed size",
  },
  {
    deed: "claim a size past the limit",
    members: () => [{ name: "a", size: new Uint8Array([0x80, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0]) }],
    state: "goes past the 68719476736 bytes that are allowed",
  },
  {
    deed: "claim a hole past the limit",
    members: () => [
      pax({ "GNU.sparse.size": "99999999999999", "GNU.sparse.map": "0,1" }),
      { name: "a", body: "x" },
    ],
    state: "goes past the 68719476736 bytes that are allowed",
  },
];

for (const { deed, members, state } of attacks) {
  Deno.test(`an archive cannot ${deed}`, async () => {
    using temp = tempDir();
    const outside = `${temp.path}/outside`;
    Deno.mkdirSync(outside);
    Deno.writeTextFileSync(`${outside}/canary`, "unharmed");
    const before = describeTree(outside);
    const unpacked = unpackBytes(tar(...members(outside)), `${temp.path}/root`);
    const error = await assertRejects(() => unpacked, ArchiveError);
    assertStringIncludes(error.message, state);
    assertEquals([typeof error.entry, typeof error.offset], ["string", "number"]);
    assertEquals(describeTree(outside), before);
    assertEquals(Deno.readTextFileSync(`${outside}/canary`), "unharmed");
  });
}

Deno.test("the attacks by absolute name, .. and link do harm with `tar -P`", async () => {
  for (
    const { members } of attacks.filter(({ deed }) =>
      /absolute name|"\.\." in a name|own/.test(deed)
    )
  ) {
    using temp = tempDir();
    const [root, outside] = [`${temp.path}/root`, `${temp.path}/outside`];
    for (const dir of [root, `${root}/d`, outside]) Deno.mkdirSync(dir);
    Deno.writeFileSync(`${temp.path}/x.tar`, tar(...members(outside)));
    // GNU tar itself delays such links unless it is told that all names are meant.
    await new Deno.Command("tar", { args: ["-xPf", `${temp.path}/x.tar`, "-C", root] }).output();
    assertEquals(Deno.readTextFileSync(`${outside}/new`), "evil");
  }
});

Deno.test("an archive cannot fill a node: bytes, entries and depth have limits", async () => {
  using temp = tempDir();
  const refuse = async (bytes: Uint8Array<ArrayBuffer>, limits: Record<string, number>) => {
    const { message, entry, offset } = await assertRejects(
      () => unpackBytes(bytes, `${temp.path}/root`, { limits }),
      ArchiveError,
    );
    return `${entry} ${offset} ${message}`;
  };
  const bytes = tar({ name: "a", body: "x".repeat(5000) }, { name: "b" }, { name: "c" });
  assertMatch(await refuse(bytes, { maxBytes: 4096 }), /^a 0 .* goes past the 4096 bytes/);
  const many = tar({ name: "a", body: "x".repeat(3000) }, { name: "b", body: "y".repeat(3000) });
  assertMatch(await refuse(many, { maxBytes: 4096 }), /^b 3584 .* goes past the 4096 bytes/);
  assertMatch(await refuse(bytes, { maxEntries: 2 }), /^c 6144 .* one more than the 2/);
  const deep = tar({ name: "d/".repeat(40) + "f" });
  assertMatch(await refuse(deep, { maxDepth: 40 }), / 0 .* more than 40 directories deep/);
});

Deno.test("an archive cannot be a bomb: zeros that compress a thousandfold end at the limit", async () => {
  using temp = tempDir();
  const size = 64 << 20;
  const bomb = gzipSync(concat([member({ name: "bomb", size }), new Uint8Array(size)]));
  assert(bomb.length < size / 900);
  const limits = { maxBytes: 1 << 20 };
  const early = await assertRejects(
    () => unpackBytes(new Uint8Array(bomb), `${temp.path}/root`, { limits }),
    ArchiveError,
  );
  assertEquals([early.entry, early.offset], ["bomb", 0]);
  assertEquals([...Deno.readDirSync(`${temp.path}/root`)].length, 0);
});

Deno.test("an archive cannot hide marks that reach out of its root", async () => {
  for (const name of [".wh...", ".wh..", ".wh.", "d/.wh...", ".wh..wh.x", ".wh.d/x"]) {
    using temp = tempDir();
    Deno.mkdirSync(`${temp.path}/outside`);
    const before = describeTree(`${temp.path}/outside`);
    const error = await assertRejects(
      () =>
        unpackBytes(tar({ name: "d/", type: "5" }, { name }), `${temp.path}/root`, {
          whiteouts: "oci",
        }),
      ArchiveError,
    );
    assertEquals([error.entry, error.offset], [name, 512]);
    assertEquals(describeTree(`${temp.path}/outside`), before);
  }
});

Deno.test("a setuid bit is dropped where the owner cannot be held, or if told", async () => {
  using temp = tempDir();
  const modes = (root: string) =>
    ["theirs", "roots"].map((name) =>
      (Deno.lstatSync(`${root}/${name}`).mode! & 0o7777).toString(8)
    );
  const members = tar(
    { name: "theirs", mode: 0o6755, uid: 1234, gid: 1234 },
    { name: "roots", mode: 0o4755 },
  );
  const summary = await unpackBytes(members, `${temp.path}/kept`);
  assertEquals([summary.ownersLost, summary.lost], [1, ['"theirs": owner 1234:1234']]);
  assertEquals(modes(`${temp.path}/kept`), ["755", "4755"]);
  await unpackBytes(members, `${temp.path}/dropped`, { setuid: "drop" });
  assertEquals(modes(`${temp.path}/dropped`), ["755", "755"]);
});
