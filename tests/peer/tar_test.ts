/** Peer tests: what GNU tar writes comes out of unpack() as it comes out of GNU tar. */
import { assert, assertEquals } from "@std/assert";
import { tempDir } from "../support/temp_dir.ts";
import { describeTree } from "../support/tree.ts";
import { unpackFile } from "../support/unpack.ts";

async function run(command: string, ...args: readonly string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(command, { args: [...args] }).output();
  assert(success, new TextDecoder().decode(stderr));
}

/** Packs `from`, unpacks it with both, and compares. */
async function compare(temp: string, from: string, ...options: readonly string[]): Promise<void> {
  const archive = `${temp}/x.tar${options.includes("-z") ? ".gz" : ""}`;
  const [ours, theirs] = [`${temp}/ours`, `${temp}/theirs`];
  await run("tar", ...options, "-cf", archive, "-C", from, ".");
  Deno.mkdirSync(ours);
  Deno.mkdirSync(theirs);
  await run("tar", "--numeric-owner", "-xpf", archive, "-C", theirs);
  await unpackFile(archive, ours);
  assertEquals(describeTree(ours), describeTree(theirs));
  for (const dir of [ours, theirs]) await run("chmod", "-R", "u+rwX", dir);
  for (const dir of [ours, theirs]) await Deno.remove(dir, { recursive: true });
}

Deno.test("a real venv is the same from GNU tar and from unpack()", async () => {
  using temp = tempDir();
  await run("/usr/bin/python3", "-m", "venv", `${temp.path}/venv`);
  for (const format of ["gnu", "pax"]) {
    await compare(temp.path, `${temp.path}/venv`, "-z", `--format=${format}`);
  }
});

Deno.test("the worst names, modes and links are the same from GNU tar and from unpack()", async () => {
  using temp = tempDir();
  const root = `${temp.path}/root`;
  Deno.mkdirSync(root);
  const at = (path: string) => `${root}/${path}`;
  const write = (path: string, body = path) => {
    Deno.mkdirSync(at(path).replace(/\/[^/]*$/, ""), { recursive: true });
    Deno.writeTextFileSync(at(path), body);
  };
  for (let length = 95; length <= 105; length++) write("n".repeat(length));
  write("é".repeat(50) + "x");
  write(`${"a".repeat(99)}é`);
  write(`${"long-directory/".repeat(20)}${"f".repeat(255)}`);
  for (const name of [" ", "a:b", "a,b", "a\\b", "a\nb", "-rf", "'", '"', "*"]) write(name);
  write("empty", "");
  write("big", "0123456789".repeat(200_000));
  Deno.linkSync(at("big"), at("hard"));
  Deno.linkSync(at("big"), at("h".repeat(150)));
  Deno.symlinkSync("../../outside", at("relative"));
  Deno.symlinkSync("/absolute/" + "t".repeat(300), at("long-target"));
  Deno.symlinkSync("l".repeat(100), at("target-100"));
  for (const mode of [0o000, 0o400, 0o555, 0o644, 0o666, 0o777]) {
    write(`mode-${mode.toString(8)}`);
    if (Deno.uid() === 0 || (mode & 0o400) !== 0) {
      Deno.chmodSync(at(`mode-${mode.toString(8)}`), mode);
    }
  }
  Deno.mkdirSync(at("sticky"));
  Deno.chmodSync(at("sticky"), 0o1777);
  write("read-only/inside");
  Deno.chmodSync(at("read-only"), 0o555);
  await run("mkfifo", at("pipe"));
  await run("touch", "-d", "1960-01-02 03:04:05", at("empty"));
  await run("touch", "-d", "2100-01-02 03:04:05.123456789", at("big"));
  await run("touch", "-h", "-d", "2001-01-01", at("relative"));
  for (const format of ["gnu", "pax"]) await compare(temp.path, root, `--format=${format}`);
});

Deno.test("names that ustar and V7 can hold are the same from GNU tar and from unpack()", async () => {
  using temp = tempDir();
  const root = `${temp.path}/root`;
  const write = (dir: string, name: string) => {
    Deno.mkdirSync(`${root}/${dir}`, { recursive: true });
    Deno.writeTextFileSync(`${root}/${dir}/${name}`, name);
  };
  write("short", "n".repeat(90));
  await compare(temp.path, root, "--format=v7");
  for (const length of [10, 40, 80]) {
    write(`${"d".repeat(60)}/${"e".repeat(length)}`, "f".repeat(90));
  }
  for (const format of ["ustar", "gnu", "pax", "oldgnu"]) {
    await compare(temp.path, root, "-z", `--format=${format}`);
  }
});
