/** Tests of `--base DIR`: a root file system in a folder. */
import { assertEquals } from "@std/assert";
import { minisandbox, printed, refusal } from "../support/minisandbox.ts";
import { copyPrograms } from "../support/root.ts";
import { tempDir } from "../support/temp_dir.ts";
import { describeTree } from "../support/tree.ts";

const PROGRAMS = ["bash", "cat", "ls", "mkdir", "rm", "touch", "stat", "id", "tty", "env"];

Deno.test("a command runs in a directory's root, and changes nothing of it", async () => {
  using temp = tempDir();
  const root = copyPrograms(`${temp.path}/root`, PROGRAMS);
  Deno.mkdirSync(`${root}/etc`);
  Deno.writeTextFileSync(`${root}/etc/os-release`, "NAME=mine\n");
  const before = describeTree(root, { owners: true });
  const script = `set -e; cat /etc/os-release; ls -A /; touch /bin/new /etc/new /new
    mkdir /var /var/x; rm /bin/ls /etc/os-release; echo changed > /bin/cat; test ! -e /bin/ls`;
  assertEquals(
    await printed(script, ["--base", root]),
    [
      "NAME=mine",
      ...["bin", "dev", "etc", "lib", "lib64", "proc", "run", "sys", "tmp"],
    ].join("\n"),
  );
  assertEquals(describeTree(root, { owners: true }), before);
});

Deno.test("a directory's root has /dev, /proc, /tmp, ptys and its own names", async () => {
  using temp = tempDir();
  const root = copyPrograms(`${temp.path}/root`, PROGRAMS);
  const script = `test -c /dev/null && test -r /proc/self/status && touch /tmp/x /dev/shm/x &&
    cat /etc/hostname /etc/resolv.conf && stat -c %a /tmp`;
  assertEquals(
    await printed(script, ["--base", root, "--hostname", "box"]),
    [
      "box",
      "# there is no network",
      "1777",
    ].join("\n"),
  );
  const args = ["run", "--quiet", "--base", root, "-t", "--", "tty"];
  assertEquals((await minisandbox(args)).stdout, "/dev/pts/0\r\n");
});

Deno.test("a root whose /etc, /tmp, /dev or /proc leads out of it leads nowhere", async () => {
  using temp = tempDir();
  const root = copyPrograms(`${temp.path}/root`, PROGRAMS);
  const outside = `${temp.path}/outside`;
  Deno.mkdirSync(outside);
  Deno.writeTextFileSync(`${outside}/canary`, "unharmed");
  for (const name of ["etc", "tmp", "dev", "proc", "run", "sys", "root"]) {
    Deno.symlinkSync(outside, `${root}/${name}`);
  }
  const before = describeTree(outside);
  const script = `touch /etc/x /tmp/x /run/x; ls -A /tmp; cat /etc/hostname; test -c /dev/null`;
  assertEquals(await printed(script, ["--base", root]), "x\nsandbox");
  const bind = ["--base", root, "--bind", "/usr/share:/root/x"];
  assertEquals(refusal(await minisandbox(["run", ...bind, "--", "true"]))[0], 125);
  assertEquals(describeTree(outside), before);
});

Deno.test("users are those of the root's own passwd and group", async () => {
  using temp = tempDir();
  const root = copyPrograms(`${temp.path}/root`, PROGRAMS);
  Deno.mkdirSync(`${root}/etc`);
  Deno.writeTextFileSync(
    `${root}/etc/passwd`,
    "root:x:0:0::/r:/bin/sh\nmine:x:77:88::/m:/bin/sh\n",
  );
  Deno.writeTextFileSync(`${root}/etc/group`, "g:x:88:\nmore:x:99:other,mine\n");
  const script = 'id -u; id -g; echo "$HOME"';
  for (const user of ["mine", "77"]) {
    assertEquals(await printed(script, ["--base", root, "--user", user]), "77\n88\n/m");
  }
  assertEquals(refusal(await minisandbox(["run", "--base", root, "-u", "agent", "--", "id"])), [
    125,
    'Cannot run as user "agent": there is no such user inside. ' +
    "Give --user a name of the sandbox's /etc/passwd, or an id.",
  ]);
});

Deno.test("a passwd that leads out of the root is not read", async () => {
  using temp = tempDir();
  const root = copyPrograms(`${temp.path}/root`, PROGRAMS);
  Deno.writeTextFileSync(`${temp.path}/passwd`, "outer:x:55:55::/:/bin/sh\n");
  Deno.mkdirSync(`${root}/etc`);
  for (const target of [`${temp.path}/passwd`, "../../passwd", "/proc/self/environ"]) {
    Deno.symlinkSync(target, `${root}/etc/passwd`);
    const args = ["run", "--base", root, "--user", "outer", "--", "id"];
    assertEquals(refusal(await minisandbox(args))[0], 125);
    Deno.removeSync(`${root}/etc/passwd`);
  }
});

Deno.test("a base that is none is refused in one line", async () => {
  using temp = tempDir();
  Deno.writeTextFileSync(`${temp.path}/file`, "");
  const base = async (dir: string) =>
    refusal(await minisandbox(["run", "--base", dir, "--", "true"], { cwd: temp.path }));
  assertEquals(await base("/no/such"), [
    125,
    'Cannot use "/no/such" as base: there is no such directory',
  ]);
  assertEquals(await base("./file"), [
    125,
    `Cannot use "${temp.path}/file" as base: it is not a directory`,
  ]);
});
