/** Attack tests: nothing in an archive reaches beyond the directory it is unpacked into. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { ArchiveError } from "../../src/errors.ts";
import { type Member, pax, tar } from "../support/tar.ts";
import { tempDir } from "../support/temp_dir.ts";
import { describeTree } from "../support/tree.ts";
import { unpackBytes } from "../support/unpack.ts";

/** An attack on `outside`, given by its absolute path, from a root beside it. */
interface Attack {
  readonly deed: string;
  readonly members: (outside: string) => readonly Member[];
  /** What the refusal says; null if the archive is taken, but harmless. */
  readonly state: string | null;
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
    state: null,
  },
  {
    deed: "change the directory that a symbolic link leads to",
    members: (outside) => [
      { name: "door", type: "2", target: outside },
      { name: "door", type: "5", mode: 0o777, mtime: 1 },
    ],
    state: null,
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
    state: "lies beneath what is a link or a file",
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
    state: null,
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
];

for (const { deed, members, state } of attacks) {
  Deno.test(`an archive cannot ${deed}`, async () => {
    using temp = tempDir();
    const outside = `${temp.path}/outside`;
    Deno.mkdirSync(outside);
    Deno.writeTextFileSync(`${outside}/canary`, "unharmed");
    const before = describeTree(outside);
    const unpacked = unpackBytes(tar(...members(outside)), `${temp.path}/root`);
    if (state === null) await unpacked;
    else assertStringIncludes((await assertRejects(() => unpacked, ArchiveError)).message, state);
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
  const refuse = async (bytes: Uint8Array<ArrayBuffer>, limits: Record<string, number>) =>
    (await assertRejects(
      () => unpackBytes(bytes, `${temp.path}/root`, { limits }),
      ArchiveError,
    )).message;
  const bytes = tar({ name: "a", body: "x".repeat(5000) }, { name: "b" }, { name: "c" });
  assertStringIncludes(await refuse(bytes, { maxBytes: 4096 }), "goes past the 4096 bytes");
  assertStringIncludes(await refuse(bytes, { maxEntries: 2 }), "one more than the 2");
  const deep = tar({ name: "d/".repeat(40) + "f" });
  assertStringIncludes(await refuse(deep, { maxDepth: 40 }), "more than 40 directories deep");
});

Deno.test("a setuid bit is dropped where the owner cannot be held", async () => {
  using temp = tempDir();
  const root = `${temp.path}/root`;
  const summary = await unpackBytes(
    tar(
      { name: "theirs", mode: 0o6755, uid: 1234, gid: 1234 },
      { name: "roots", mode: 0o4755 },
    ),
    root,
  );
  assertEquals(summary.ownersLost, 1);
  assertEquals(Deno.lstatSync(`${root}/theirs`).mode! & 0o7777, 0o755);
  assert((Deno.lstatSync(`${root}/roots`).mode! & 0o4000) !== 0);
});
