/** Peer tests: what packTree() writes comes out of other tars as the tree that it was. */
import { assert, assertEquals } from "@std/assert";
import { createTarDecoder } from "modern-tar";
import { debianRootTar } from "../support/debian_root.ts";
import { packDir } from "../support/pack.ts";
import { requires } from "../support/requirement.ts";
import { tempDir } from "../support/temp_dir.ts";
import { assertSameTree, describeTree } from "../support/tree.ts";
import { unpackStream } from "../support/unpack.ts";
import { addSparseFiles, makeWorstTree, run, setAttribute } from "../support/worst_tree.ts";

const isRoot = Deno.uid() === 0;
const WITH_ALL = { owners: isRoot, xattrs: true };

/** Packs a tree with packTree(), unpacks it by a command, and compares. */
async function compare(temp: string, root: string, unpack: readonly string[]): Promise<void> {
  const [archive, theirs] = [`${temp}/x.tar`, `${temp}/theirs`];
  Deno.writeFileSync(archive, await packDir(root));
  Deno.mkdirSync(theirs);
  const [program = "", ...args] = unpack;
  const said = await run(program, ...args, "-xpf", archive, "-C", theirs);
  assertEquals(said, "");
  // The root's own time is lost by bsdtar, unless all names begin with "./".
  const ofRoot = (line: string) => program === "bsdtar" && line.startsWith('"." ');
  const describe = (dir: string) => describeTree(dir, WITH_ALL).filter((line) => !ofRoot(line));
  assertSameTree(describe(theirs), describe(root));
  await run("chmod", "-R", "u+rwX", theirs);
  await Deno.remove(theirs, { recursive: true });
}

/** Makes the worst tree, with sparse files and attributes. */
async function makeTree(root: string): Promise<void> {
  await makeWorstTree(root);
  addSparseFiles(root);
  setAttribute(`${root}/empty`, "user.of.file", "a=b%\n");
  setAttribute(`${root}/sticky`, "user.of.directory", "1");
  if (isRoot) return;
  await run("chmod", "u+r", `${root}/mode-0`); // which nobody but root can read
}

const GNU_TAR = [
  ...["tar", "--numeric-owner", "--xattrs", "--xattrs-include=*", "--delay-directory-restore"],
];

Deno.test("GNU tar unpacks what packTree() wrote", async () => {
  using temp = tempDir();
  await makeTree(`${temp.path}/root`);
  await compare(temp.path, `${temp.path}/root`, GNU_TAR);
});

Deno.test({
  name: "bsdtar unpacks what packTree() wrote",
  ...requires("bsdtar"),
  fn: async () => {
    using temp = tempDir();
    await makeTree(`${temp.path}/root`);
    // Without -P it takes the start of "a:b" for a drive's letter.
    await compare(temp.path, `${temp.path}/root`, ["bsdtar", "--numeric-owner", "-S", "-P"]);
  },
});

Deno.test("modern-tar reads what packTree() wrote", async () => {
  using temp = tempDir();
  const root = `${temp.path}/root`;
  await makeWorstTree(root);
  if (!isRoot) await run("chmod", "u+r", `${root}/mode-0`);
  const bytes = await packDir(root);
  const names: string[] = [];
  const stream = ReadableStream.from([bytes]).pipeThrough(createTarDecoder());
  for await (const { header, body } of stream) {
    const content = new Uint8Array(await new Response(body).arrayBuffer());
    const path = `${root}/${header.name}`;
    names.push(header.name.replace(/\/$/, ""));
    const { isFile, isSymlink, nlink } = Deno.lstatSync(path);
    if (isSymlink) assertEquals(header.linkname, Deno.readLinkSync(path));
    if (isFile && nlink === 1) assertEquals(content, Deno.readFileSync(path));
  }
  const found = await run("find", root, "-printf", "%P\\0");
  assertEquals(names.sort(), found.split("\0").map((path) => path || ".").slice(0, -1).sort());
});

Deno.test({
  name: "a Debian root file system is the same after packTree() and unpack() or GNU tar",
  ignore: !isRoot || requires("debootstrap").ignore,
  fn: async () => {
    using temp = tempDir();
    const [root, again] = [`${temp.path}/root`, `${temp.path}/again`];
    const summary = await unpackStream(await debianRootTar(), root);
    assert(summary.files > 3000);
    await compare(temp.path, root, GNU_TAR);
    await unpackStream(`${temp.path}/x.tar`, again);
    assertSameTree(describeTree(again, WITH_ALL), describeTree(root, WITH_ALL));
  },
});
