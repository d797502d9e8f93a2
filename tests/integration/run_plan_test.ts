/** Tests of `run --plan`: each step printed, none done. */
import { assert, assertEquals } from "@std/assert";
import { packFiles } from "../support/archive.ts";
import { minisandbox } from "../support/minisandbox.ts";
import { tempDir } from "../support/temp_dir.ts";

Deno.test("--plan prints every step in order and makes nothing", async () => {
  using temp = tempDir();
  const archive = await packFiles(temp.path, "x.tar.gz", { f: "" });
  const store = `${temp.path}/store`;
  const { code, stdout, stderr } = await minisandbox([
    ...["run", "--plan", "--store", store, "-l", `${archive}:/opt/x`, "--bind", "/usr:/mnt/usr"],
    ...["--upper", "tmpfs:64M", "--", "no-such-command", "argument"],
  ]);
  assertEquals([code, stderr], [0, ""]);
  const lines = stdout.trimEnd().split("\n");
  assertEquals(lines.filter((line) => line.startsWith("# ")).length, 6);
  assert(lines.every((line) => /^# |^ {2}[a-z_0-9]+\(.*\).*# /.test(line)));
  for (
    const part of [
      "move_mount(",
      "size=67108864",
      '"/usr/bin/no-such-command",',
      '"no-such-command", "argument"],',
      "prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)",
      "prctl(PR_SET_SECCOMP, 2, {len=",
      "prlimit64(0, RLIMIT_NPROC, ",
      `open "<${archive}, to be unpacked>`,
      'bind "/usr" to "/mnt/usr"',
      "install the seccomp filter",
    ]
  ) assert(stdout.includes(part), `there is no ${part}`);
  assertEquals(list(store), []);
});

Deno.test("--plan refuses what run would refuse", async () => {
  using temp = tempDir();
  const plan = async (...args: string[]) =>
    (await minisandbox(["run", "--plan", "--store", `${temp.path}/store`, ...args])).code;
  assertEquals(await plan(), 125);
  assertEquals(await plan("-w", "x", "--", "true"), 125);
  assertEquals(await plan("--user", "nemo", "--", "true"), 125);
});

/** Every file and directory below a store, but its own. */
function list(store: string): string[] {
  try {
    const own = [...Deno.readDirSync(store)].map(({ name }) => `${store}/${name}`);
    return own.flatMap((dir) => [...Deno.readDirSync(dir)].map(({ name }) => `${dir}/${name}`));
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return [];
  }
}
