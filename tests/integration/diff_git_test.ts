/** Tests that a patch of a live sandbox is the one of git, on a repository of real source. */
import { assert, assertEquals } from "@std/assert";
import { toHunks } from "../../src/diff/hunk.ts";
import { packTree } from "../support/archive.ts";
import { fuzzSeed } from "../support/property.ts";
import { type Random, randomFrom } from "../support/random.ts";
import { changes, makeRepository, script } from "../support/repository.ts";
import { requires } from "../support/requirement.ts";
import { copyPrograms } from "../support/root.ts";
import { TestServer } from "../support/rpc_client.ts";
import { tempDir } from "../support/temp_dir.ts";

const ROOT = "/testbed";
const GIT_DIFF = ["diff", "--no-renames", "--full-index"];

/** The patch of a sandbox's tree, text of one character a byte. */
async function patchOf(server: TestServer, sandbox: string): Promise<string> {
  const { patch, isCut } = await server.call<{ patch: { base64: string }; isCut: boolean }>(
    "sandbox.diff",
    { sandbox, root: ROOT, format: "unified", base64: true },
  );
  assertEquals(isCut, false);
  return toText(Uint8Array.fromBase64(patch.base64));
}

/** What git says of a tree, which it is given in the place of a repository's own. */
async function gitPatch(repository: string, tree: string, temp: string): Promise<string> {
  await script(
    temp,
    `git clone -q ${repository} theirs; mv theirs/.git theirs.git; rm -r theirs
    cp -a ${tree} theirs; rm -r theirs/.git; mv theirs.git theirs/.git; git -C theirs add -A`,
  );
  return toText(await git(`${temp}/theirs`, ...GIT_DIFF, "--cached"));
}

async function git(cwd: string, ...args: readonly string[]): Promise<Uint8Array> {
  const { success, stdout, stderr } = await new Deno.Command("git", {
    args: [...args],
    cwd,
    env: { GIT_CONFIG_GLOBAL: "/dev/null" },
  }).output();
  assert(success || args.includes("--no-index"), new TextDecoder().decode(stderr));
  return stdout;
}

/** The text parts of a patch, sorted; git may show more of a hash. */
function textParts(patch: string): string[] {
  return patch.split(/^diff --git /m)
    .filter((part) => part !== "" && !/^(GIT binary patch|Binary files )/m.test(part))
    .map((part) => part.replace(/^index \w+\.\.\w+/m, "index"))
    .sort();
}

const seed = fuzzSeed();

Deno.test({
  name: `edits of real source make the patch of git, with and without a git inside (seed ${seed})`,
  ...requires("git", "python3"),
  fn: async () => {
    await using server = new TestServer();
    using temp = tempDir();
    const repository = `${temp.path}/repository`;
    await makeRepository(repository);
    const archive = `${temp.path}/repository.tar.gz`;
    await packTree(repository, archive, "--owner=0", "--group=0");
    const layers = [{ archive, path: ROOT }];

    const sandbox = await server.create({ layers, workdir: ROOT });
    const { stderr, outcome } = await server.run(sandbox, ["bash", "-c", changes(seed)]);
    assertEquals([stderr.text, outcome.code], ["", 0]);
    const own = await patchOf(server, sandbox);
    const tree = `${temp.path}/tree`;
    await server.call("file.download", { sandbox, path: ROOT, hostPath: tree });
    const theirs = await gitPatch(repository, tree, temp.path);
    assertEquals(textParts(own), textParts(theirs));
    const parts = own.split(/^diff --git /m).length - 1;
    console.log(`${parts} files, ${own.split("\n").length} lines`);
    assertEquals(parts, theirs.split(/^diff --git /m).length - 1);

    // Applied to what was there before, it makes what is there now.
    Deno.writeFileSync(`${temp.path}/patch`, toBytes(own));
    await script(
      temp.path,
      `git clone -q ${repository} applied; git -C applied apply --index ../patch`,
    );
    const [applied, wanted] = await Promise.all(
      ["applied", "theirs"].map((name) => git(`${temp.path}/${name}`, "write-tree")),
    );
    assertEquals(applied, wanted);

    // The same tree, laid over the old one where there is no git, and hardly anything else.
    const base = copyPrograms(`${temp.path}/base`, ["bash", "rm"]);
    const bare = await server.create({ base, layers, workdir: ROOT });
    const gone = toText(await git(`${temp.path}/theirs`, ...GIT_DIFF, "--cached", "-z", ...GONE))
      .split("\0").filter((name) => name !== "");
    assert(gone.length > 5);
    for (const name of gone) {
      const path = { base64: toBytes(`${ROOT}/${name}`).toBase64() };
      await server.call("file.remove", { sandbox: bare, path, recursive: true });
    }
    await server.call("file.remove", { sandbox: bare, path: `${ROOT}/.git`, recursive: true });
    await server.call("file.remove", { sandbox: bare, path: `${ROOT}/more`, recursive: true });
    await server.call("file.upload", { sandbox: bare, path: ROOT, hostPath: tree });
    assertEquals(await patchOf(server, bare), own);
  },
});

/** What is to be removed before a tree is laid over the old one. */
const GONE = ["--name-only", "--diff-filter=D", "--", ".", ":!more"];

Deno.test({
  name: `the hunks of texts by chance are those of git (seed ${seed})`,
  ...requires("git"),
  fn: async () => {
    using temp = tempDir();
    const below = randomFrom(seed);
    const sides = ["a", "b"].map((side) => `${temp.path}/${side}`) as [string, string];
    for (const dir of sides) Deno.mkdirSync(dir);
    const texts = Array.from({ length: 600 }, () => somePair(below));
    for (const [i, pair] of texts.entries()) {
      pair.forEach((text, side) => Deno.writeFileSync(`${sides[side]}/${i}`, toBytes(text)));
    }
    const patch = toText(await git(temp.path, ...GIT_DIFF, "--no-index", "a", "b"));
    const told = patch.split(/^diff --git /m).map((part) => {
      const at = part.search(/^@@/m);
      return [/^a\/a\/(\d+)/.exec(part)?.[1], at < 0 ? "" : part.slice(at)] as const;
    });
    const theirs = new Map(told);
    for (const [i, [old, now]] of texts.entries()) {
      assertEquals(toHunks(old, now), theirs.get(`${i}`) ?? "", JSON.stringify([old, now]));
    }
  },
});

const USUAL = [
  "}",
  "",
  "  }",
  "  x",
  "    y = 1",
  "def f():",
  "\treturn",
  "  ",
  "if x:",
  "z\r",
  "\xc3\xa0",
];

/** A text of lines that repeat, and what a few edits make of it. */
function somePair(below: Random): readonly [string, string] {
  const kinds = 1 + below(20);
  const line = () => below(4) > 0 ? USUAL[below(Math.min(kinds, USUAL.length))]! : ownLine();
  const ownLine = () => `${"  ".repeat(below(3))}own ${below(8 * kinds)}`;
  const lines = (count: number) => Array.from({ length: count }, line);
  const old = lines(below(60));
  const now = [...old];
  for (let edits = below(8); edits > 0; edits--) {
    const [at, size] = [below(now.length + 1), below(6)];
    const [removed, added] = [
      [size, []],
      [0, lines(size)],
      [0, now.slice(at, at + size)],
      [size, lines(size)],
    ][below(4)] as [number, string[]];
    now.splice(at, removed, ...added);
  }
  if (below(20) === 0) now.reverse();
  const join = (all: readonly string[]) => all.join("\n") + (below(10) === 0 ? "" : "\n");
  return [join(old), join(now)];
}

function toText(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}

function toBytes(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}
