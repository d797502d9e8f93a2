/** Tests of where what a sandbox writes is kept. */
import { assert, assertEquals } from "@std/assert";
import {
  assertNothingLeft,
  bash,
  minisandbox,
  printed,
  refusal,
  sharedStore,
} from "../support/minisandbox.ts";
import { requires } from "../support/requirement.ts";
import { tempDir } from "../support/temp_dir.ts";

const WRITE = "echo new > /opt/new && rm /usr/bin/awk && cat /opt/new && ! test -e /usr/bin/awk";

Deno.test("what a sandbox writes is gone after it, wherever it was kept", async () => {
  using temp = tempDir();
  for (const args of [[], ["--upper", "disk"], ["--upper", "tmpfs"], ["--upper-dir", temp.path]]) {
    assertEquals(await printed(WRITE, args), "new");
    assertEquals(await printed("ls /opt; ls /usr/bin/awk", args), "/usr/bin/awk");
  }
  assertEquals([...Deno.readDirSync(temp.path)], []);
  assertNothingLeft();
});

Deno.test("--upper tmpfs:SIZE is the most that a sandbox can write", async () => {
  const fill = "head -c 20M /dev/zero > /opt/big; stat -c %s /opt/big";
  const { stdout, stderr } = await bash(fill, ["--upper", "tmpfs:8M"]);
  assert(Number(stdout) <= 8 << 20);
  assertEquals(stderr, "head: error writing 'standard output': No space left on device\n");
  assertEquals(await printed(fill, ["--upper", "tmpfs:64M"]), String(20 << 20));
});

Deno.test("--upper-dir is made where it is missing, and what is in it stays", async () => {
  using temp = tempDir();
  Deno.writeTextFileSync(`${temp.path}/mine`, "x");
  Deno.mkdirSync(`${temp.path}/0123456789abcdef`);
  assertEquals(await printed(WRITE, ["--upper-dir", temp.path]), "new");
  assertEquals(await printed(WRITE, ["--upper-dir", `${temp.path}/a/b c,d:e`]), "new");
  assertEquals([...Deno.readDirSync(temp.path)].map(({ name }) => name).sort(), [
    "0123456789abcdef",
    "a",
    "mine",
  ]);
  assertEquals([...Deno.readDirSync(`${temp.path}/a/b c,d:e`)], []);
});

Deno.test("files are kept in --upper-dir while the command runs", async () => {
  using temp = tempDir();
  const bind = ["--bind", `${temp.path}:/mnt`];
  const script = "echo precious > /opt/new; cat /mnt/*/upper/0/opt/new 2>&1";
  // Only the owner may look: as root the files belong to ids of the sandbox, as a user to him.
  const { stdout } = await bash(script, ["--upper-dir", temp.path, ...bind]);
  assertEquals(stdout, "precious\n");
});

Deno.test({
  name: "an upper on an overlay is refused, with what to do instead",
  ...requires("userns"),
  fn: async () => {
    using temp = tempDir();
    for (const name of ["lower", "upper", "work", "merged"]) {
      Deno.mkdirSync(`${temp.path}/${name}`);
    }
    const { path } = temp;
    const options = `lowerdir=${path}/lower,upperdir=${path}/upper,workdir=${path}/work,userxattr`;
    const script = `mount -t overlay overlay -o ${options} ${path}/merged && exec "$0" "$@"`;
    const under = ["unshare", "--user", "--map-root-user", "--mount", "bash", "-c", script];
    const args = ["run", "--quiet", "--upper-dir", `${path}/merged`, "--", "true"];
    const result = await minisandbox(args, { under });
    const [code, line] = refusal(result);
    assertEquals([code, line.replace(/merged\/\w+/, "merged/ID")], [
      125,
      `Cannot keep what the sandbox writes in "${path}/merged/ID": it lies on overlay. ` +
      "Give --upper-dir DIR on a local disk, or --upper tmpfs.",
    ]);
    assertEquals([...Deno.readDirSync(`${path}/upper`)], []);
    Deno.chmodSync(`${path}/work/work`, 0o700);
  },
});

Deno.test("a bad --upper is refused in one line", async () => {
  const upper = async (...args: string[]) =>
    refusal(await minisandbox(["run", ...args, "--", "true"]))[1];
  for (const text of ["ram", "disk:5M", "tmpfs:1M:2M", ""]) {
    assertEquals(
      await upper(`--upper=${text}`),
      `Cannot read --upper ${JSON.stringify(text)}: no such place. ` +
        "Give disk, tmpfs or tmpfs:SIZE.",
    );
  }
  for (const text of ["", "0", "4095", "-1", "5X", "1e9", "M", "9999999T"]) {
    assertEquals(
      await upper("--upper", `tmpfs:${text}`),
      `Cannot read the size ${JSON.stringify(text)}: no size of 4K or more. ` +
        "Give it as 512M or 2G.",
    );
  }
  assertEquals(
    await upper("--upper", "tmpfs", "--upper-dir", "/x"),
    "Cannot use --upper-dir with --upper tmpfs: memory has no directory. Give one of them.",
  );
  assertEquals(
    await upper("--upper-dir", "/proc/x"),
    `Cannot write to the store "/proc/x": No such file or directory (os error 2): ` +
      "mkdir '/proc/x'. " +
      "Give a directory that you may write with --store DIR or MINISANDBOX_STORE.",
  );
  assert(sharedStore().startsWith("/"));
});
