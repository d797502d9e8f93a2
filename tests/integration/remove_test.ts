/** Tests of what a hostile tree can do to the one who removes it. */
import { assert, assertEquals } from "@std/assert";
import { removeTree } from "../../src/store/mod.ts";
import { requires } from "../support/requirement.ts";
import { tempDir } from "../support/temp_dir.ts";
import { exists } from "../support/tree.ts";

/** Deeper than a recursion in native code survives. */
const DEPTH = 20_000;

Deno.test({
  name: `removeTree() removes ${DEPTH} directories, each in the one before`,
  ...requires("python3"),
  fn: async () => {
    // In memory: a disk takes a minute for it.
    const dir = Deno.makeTempDirSync({ dir: "/dev/shm", prefix: "minisandbox-test-" });
    const code = `import os
os.chdir("${dir}")
for _ in range(${DEPTH}):
    os.mkdir("d")
    os.chdir("d")
open("file", "w")`;
    const { success } = await new Deno.Command("python3", { args: ["-c", code] }).output();
    assert(success);
    await removeTree(dir);
    assertEquals(exists(dir), false);
  },
});

Deno.test("removeTree() removes what has no permission left, and names that are no text", async () => {
  using temp = tempDir();
  const dir = `${temp.path}/tree`;
  Deno.mkdirSync(`${dir}/closed/inner`, { recursive: true });
  Deno.writeTextFileSync(`${dir}/closed/inner/file`, "");
  const name = `$'\\xff\\xfe\\n'`;
  const { success } = await new Deno.Command("bash", {
    args: ["-c", `touch ${name}; mkdir d${name}`],
    cwd: dir,
  })
    .output();
  assert(success);
  Deno.chmodSync(`${dir}/closed/inner`, 0);
  Deno.chmodSync(`${dir}/closed`, 0);
  await removeTree(dir);
  assertEquals(exists(dir), false);
});

Deno.test("removeTree() removes links, not what they lead to", async () => {
  using temp = tempDir();
  const [dir, canary] = [`${temp.path}/tree`, `${temp.path}/canary`];
  Deno.mkdirSync(dir);
  Deno.mkdirSync(canary);
  Deno.symlinkSync(canary, `${dir}/link`);
  Deno.symlinkSync("/", `${dir}/root`);
  await removeTree(dir);
  assertEquals([exists(dir), exists(canary)], [false, true]);
  await removeTree(dir); // nothing there is no error
});
