/** Peer tests: what other tars write comes out of unpack() as it comes out of GNU tar. */
import { assert } from "@std/assert";
import { debianRootTar } from "../support/debian_root.ts";
import { requires } from "../support/requirement.ts";
import { tempDir } from "../support/temp_dir.ts";
import { assertSameTree, describeTree } from "../support/tree.ts";
import { unpackStream } from "../support/unpack.ts";
import { makeVenv } from "../support/venv.ts";
import { addSparseFiles, makeWorstTree, run, setAttribute } from "../support/worst_tree.ts";

const isRoot = Deno.uid() === 0;

/** Unpacks an archive with GNU tar and with unpack(), and compares. */
async function compare(temp: string, archive: string): Promise<void> {
  const [ours, theirs] = [`${temp}/ours`, `${temp}/theirs`];
  for (const dir of [ours, theirs]) Deno.mkdirSync(dir);
  const known = ["--numeric-owner", "--xattrs", "--xattrs-include=*", "--delay-directory-restore"];
  await run("tar", ...known, "--exclude=./dev/*", "-xpf", archive, "-C", theirs);
  await unpackStream(archive, ours);
  const skip = (path: string) => path.startsWith("dev/"); // which one takes, and one leaves out
  const options = { owners: isRoot, xattrs: true, skip };
  assertSameTree(describeTree(ours, options), describeTree(theirs, options));
  for (const dir of [ours, theirs]) await run("chmod", "-R", "u+rwX", dir);
  for (const dir of [ours, theirs]) await Deno.remove(dir, { recursive: true });
}

/** Packs `from` with a program, then compares. */
async function pack(temp: string, from: string, ...command: readonly string[]): Promise<void> {
  const archive = `${temp}/x.tar`;
  const [program, ...options] = command;
  await run(program!, ...options, "-cf", archive, "-C", from, ".");
  await compare(temp, archive);
}

Deno.test({
  name: "a real venv of over 5,000 files is the same from GNU tar and from unpack()",
  ...requires("venv"),
  fn: async () => {
    using temp = tempDir();
    await makeVenv(`${temp.path}/venv`);
    const count = (await run("find", `${temp.path}/venv`, "-type", "f")).split("\n").length;
    assert(count > 5000, `${count} files`);
    await pack(temp.path, `${temp.path}/venv`, "tar", "-z", "--format=pax");
  },
});

Deno.test({
  name: "a Debian root file system is the same from GNU tar and from unpack()",
  ignore: !isRoot || requires("debootstrap").ignore,
  fn: async () => {
    using temp = tempDir();
    await compare(temp.path, await debianRootTar());
  },
});

Deno.test("the worst names, modes and links are the same from GNU tar and from unpack()", async () => {
  using temp = tempDir();
  const root = `${temp.path}/root`;
  await makeWorstTree(root);
  for (const format of ["gnu", "pax"]) await pack(temp.path, root, "tar", `--format=${format}`);
});

Deno.test({
  name: "bsdtar's names, attributes and sparse files are the same from GNU tar and from unpack()",
  ...requires("bsdtar"),
  fn: async () => {
    using temp = tempDir();
    const root = `${temp.path}/root`;
    await makeWorstTree(root);
    setAttribute(`${root}/empty`, "user.of.file", "a=b%\n");
    await pack(temp.path, root, "bsdtar", "--format=gnutar");
    addSparseFiles(root); // as which only bsdtar's pax keeps them
    await pack(temp.path, root, "bsdtar", "--format=pax");
  },
});

Deno.test("sparse files of every format are the same from GNU tar and from unpack()", async () => {
  using temp = tempDir();
  const root = `${temp.path}/root`;
  Deno.mkdirSync(root);
  addSparseFiles(root);
  await pack(temp.path, root, "tar", "-S", "--format=gnu");
  for (const version of ["0.0", "0.1", "1.0"]) {
    await pack(temp.path, root, "tar", "-S", "--format=pax", `--sparse-version=${version}`);
  }
});

Deno.test("attributes are the same from GNU tar and from unpack()", async () => {
  using temp = tempDir();
  const root = `${temp.path}/root`;
  Deno.mkdirSync(`${root}/dir`, { recursive: true });
  Deno.writeTextFileSync(`${root}/file`, "x");
  Deno.writeTextFileSync(`${root}/read-only`, "x");
  setAttribute(`${root}/dir`, "user.of.dir", "1");
  setAttribute(`${root}/file`, "user.empty", "");
  setAttribute(`${root}/file`, "user.long", "v".repeat(1000));
  setAttribute(`${root}/file`, "user.50%=half", "x");
  setAttribute(`${root}/read-only`, "user.kept", "y");
  Deno.chmodSync(`${root}/read-only`, 0o444);
  await pack(temp.path, root, "tar", "--xattrs", "--format=pax");
});

Deno.test("names that ustar and V7 can hold are the same from GNU tar and from unpack()", async () => {
  using temp = tempDir();
  const root = `${temp.path}/root`;
  const write = (dir: string, name: string) => {
    Deno.mkdirSync(`${root}/${dir}`, { recursive: true });
    Deno.writeTextFileSync(`${root}/${dir}/${name}`, name);
  };
  write("short", "n".repeat(90));
  await pack(temp.path, root, "tar", "--format=v7");
  for (const length of [10, 40, 80]) {
    write(`${"d".repeat(60)}/${"e".repeat(length)}`, "f".repeat(90));
  }
  for (const format of ["ustar", "gnu", "pax", "oldgnu"]) {
    await pack(temp.path, root, "tar", "-z", `--format=${format}`);
  }
});
