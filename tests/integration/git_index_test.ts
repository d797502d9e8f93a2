/** Tests that git in a sandbox need not read the files of an unpacked repository, and sees what has changed. */
import { assert, assertEquals } from "@std/assert";
import { minisandbox, printed } from "../support/minisandbox.ts";
import { script } from "../support/repository.ts";
import { requires } from "../support/requirement.ts";
import { tempDir } from "../support/temp_dir.ts";

const INIT = "git config user.name x; git config user.email x@x";

/** Files whose names and kinds differ, in directories and beside them. */
const FILES =
  `mkdir -p a/b "with space"; seq 9 >a/b/f; seq 8 >a/b.c; seq 7 >"with space/ü"; ln -s a/b/f link
  echo '#!/bin/sh' >run; chmod +x run; : >empty; seq 100000 >large; git add -A; git commit -qm first`;

/** What git would have to read, by all that it remembers of a file; then what it finds. */
const LOOK =
  "export GIT_CONFIG_NOSYSTEM=1; git diff-files --name-only; echo --; git status --porcelain";

const CLEAN = "--\n";

/** Makes a repository, packs it, and gives what a look at it finds: before, and in a sandbox. */
async function look(
  text: string,
  pack = "",
): Promise<{ readonly before: string; readonly inside: string }> {
  using temp = tempDir();
  const dir = `${temp.path}/repository`;
  const archive = `${temp.path}/repository.tar.gz`;
  Deno.mkdirSync(dir);
  await script(dir, text);
  await script(temp.path, `tar --owner=0 --group=0 ${pack} -czf ${archive} -C ${dir} .`);
  const before = (await script(dir, "git status --porcelain")).replace(/^/, CLEAN);
  const inside = await printed(`cd /testbed; ${LOOK}`, ["--layer", `${archive}:/testbed`]);
  const imported = ["layer", "import", "--quiet", "--json", `${archive}:/testbed`];
  const { layers: [{ key }] } = JSON.parse((await minisandbox(imported)).stdout);
  const { code, stdout } = await minisandbox(["store", "verify", key]);
  assertEquals([code, stdout.slice(0, 4)], [0, "PASS"]);
  return { before, inside: `${inside}\n` };
}

Deno.test({
  name: "git in a sandbox knows the files of its repository, whatever the index's version",
  ...requires("git"),
  fn: async () => {
    for (const version of [2, 3, 4]) {
      const text = `git init -q; ${INIT}; git config index.version ${version}; ${FILES}`;
      assertEquals(await look(text), { before: CLEAN, inside: CLEAN });
    }
    const text = `git init -q --object-format=sha256; ${INIT}; ${FILES}`;
    assertEquals(await look(text), { before: CLEAN, inside: CLEAN });
  },
});

Deno.test({
  name: "without that it would read all of them",
  ...requires("git"),
  fn: async () => {
    using temp = tempDir();
    await script(
      temp.path,
      `mkdir one; cd one; git init -q; ${INIT}; ${FILES}; cp -a ../one ../two`,
    );
    assertEquals(
      (await script(`${temp.path}/two`, "git diff-files --name-only")).split("\n").length,
      8,
    );
  },
});

Deno.test({
  name: "neither times of one moment nor times that were made the same keep it from knowing",
  ...requires("git"),
  fn: async () => {
    const text = `git init -q; ${INIT}; ${FILES}; find . -exec touch -hd @1700000000 {} +`;
    assertEquals((await look(text)).inside, CLEAN);
    assertEquals((await look(text, "--mtime=@0")).inside, CLEAN);
  },
});

Deno.test({
  name: "what has changed is seen, whatever its time and size",
  ...requires("git"),
  fn: async () => {
    const text = `git init -q; ${INIT}; ${FILES}; touch -d @1700000000 a/b/f; git status >/dev/null
    echo 9 >note; touch -r a/b/f note; tr 9 8 <a/b/f >new; cat new >a/b/f; rm new; touch -r note a/b/f note
    chmod -x run; rm a/b.c; ln -sfn empty link; git add -N note; echo more >>large; git add large; echo x >>large`;
    const { inside } = await look(text);
    const [known = "", found = ""] = inside.split("--\n");
    const paths = ["a/b.c", "a/b/f", "large", "link", "note", "run"];
    assertEquals(known.trim().split("\n").sort(), paths);
    const states = [" D", " M", "MM", " M", " A", " M"];
    // Where all was done in one second, git outside has not even seen that a/b/f is another.
    assertEquals(found, paths.map((path, i) => `${states[i]} ${path}\n`).join(""));
  },
});

Deno.test({
  name: "what git was told not to look at stays so",
  ...requires("git"),
  fn: async () => {
    const text = `git init -q; ${INIT}; ${FILES}; git update-index --skip-worktree a/b/f
    git update-index --assume-unchanged a/b.c; echo x >>a/b/f; echo x >>a/b.c`;
    assertEquals(await look(text), { before: CLEAN, inside: CLEAN });
  },
});

Deno.test({
  name: "an index that cannot be read, or leads astray, is left as it is",
  ...requires("git"),
  fn: async () => {
    const damaged =
      `git init -q; ${INIT}; ${FILES}; printf x | dd of=.git/index bs=1 seek=40 conv=notrunc status=none`;
    using temp = tempDir();
    const pack = async (text: string) => {
      await script(
        temp.path,
        `mkdir r; cd r; ${text}; sha256sum .git/index | cut -d ' ' -f 1 >../sum
      cd ..; tar --owner=0 --group=0 -czf r.tar.gz r; rm -r r`,
      );
      const inside = await printed("sha256sum </r/r/.git/index", [
        "--layer",
        `${temp.path}/r.tar.gz:/r`,
      ]);
      return [inside.slice(0, 64), Deno.readTextFileSync(`${temp.path}/sum`).trim()] as const;
    };
    for (
      const text of [
        damaged,
        `mkdir -p .git; head -c 5000 /dev/urandom >.git/index`,
        `mkdir -p .git; : >.git/index`,
        `git init -q; ${INIT}; ${FILES}; git update-index --split-index`,
        `git init -q; ${INIT}; mkdir d; echo x >d/f; git add -A; git commit -qm x; rm -r d; mkdir ../o; echo x >../o/f
        ln -s ../o d; rm -r ../o`,
      ]
    ) {
      const [inside, outside] = await pack(text);
      assertEquals(inside, outside, text);
    }
  },
});

Deno.test({
  name: "an index with another name is left as it is, too",
  ...requires("git"),
  fn: async () => {
    const text = `git init -q; ${INIT}; ${FILES}; ln .git/index copy`;
    const { inside } = await look(text);
    assert(inside.endsWith("?? copy\n"));
  },
});
