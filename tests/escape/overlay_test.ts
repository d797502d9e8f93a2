/** Attacks by what a sandbox leaves: overlayfs's marks, whiteouts, and archives, kept or packed. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { cannot, program, PYTHON, runInside, runOutside, testAttacks } from "../support/attack.ts";
import { bash, minisandbox, printed, refusal } from "../support/minisandbox.ts";
import { tempDir } from "../support/temp_dir.ts";
import { describeTree } from "../support/tree.ts";

testAttacks([
  {
    deed: "make a whiteout, which overlayfs would take for a deletion",
    outside: "['ok']",
    python: `
answers = set()
for place in ("/srv", "/usr", "/root") if os.getpid() < 100 else [ARG]:
    path = f"{place}/minisandbox-test-{os.getpid()}"
    answers.add(attempt(os.mknod, path, 0o020600, 0))
    attempt(os.unlink, path)
return sorted(answers)`,
    argument: () => Deno.env.get("TMPDIR") ?? "/tmp",
    inside: "['EPERM']",
  },
  {
    deed: "leave a whiteout behind by renaming",
    outside: cannot("file systems differ"),
    python: `
open("/srv/a", "w").close()
check(libc.renameat2(-100, b"/srv/a", -100, b"/srv/b", 4))`,
    inside: "EINVAL",
  },
]);

/** Attributes by which overlayfs would hide what lies below, or show another file. */
const MARKS = [
  "opaque",
  "redirect",
  "whiteout",
  "metacopy",
  "origin",
  "upper",
  "nlink",
  "protattr",
];

Deno.test("a sandbox cannot hide or fake files of the next one by attributes that it leaves in a snapshot", async () => {
  const attack = program(`
os.makedirs("/usr/share/doc", exist_ok=True)
os.mkdir("/srv/mine")
for path in ("/usr/share", "/usr", "/etc", "/srv/mine", "/"):
    for mark in ${JSON.stringify(MARKS)}:
        for value in (b"y", b"/etc", b"x"):
            attempt(os.setxattr, path, f"user.overlay.{mark}", value)
            attempt(os.setxattr, path, f"trusted.overlay.{mark}", value)
            attempt(os.setxattr, path, f"user.overlay.overlay.{mark}", value)
open("/srv/mine/canary", "w").write("mine")`);
  const script = "ls -A / /usr /etc /usr/share; cat /srv/mine/canary /etc/hostname";
  const before = await printed("ls -A / /usr /etc /usr/share; echo minesandbox");
  const kept = await minisandbox(["run", "--quiet", "--keep", "marks", "--", PYTHON, "-c", attack]);
  assertEquals([kept.stdout, kept.stderr], ["ok", ""]);
  const lines = (text: string) => text.split("\n").filter((line) => line !== "minesandbox");
  assertEquals(lines(await printed(script, ["--from", "marks"])), lines(before));
  assertEquals((await minisandbox(["snapshot", "remove", "marks"])).code, 0);
});

Deno.test("a sandbox cannot leave a name that would be taken for a whiteout", async () => {
  for (const path of ["/.wh.etc", "/usr/.wh.bin", "/srv/.wh..wh..opq", "/srv/.wh..wh.plnk"]) {
    const { code, stderr } = await bash(`touch ${path}`, ["--keep", "whiteout"]);
    assertEquals(code, 125);
    assertStringIncludes(stderr, "has a name that means a whiteout in an OCI layer");
  }
  assertEquals(refusal(await minisandbox(["run", "--from", "whiteout", "--", "true"]))[0], 125);
});

Deno.test("a sandbox cannot have its links, pipes and sockets followed when they are kept", async () => {
  using temp = tempDir();
  Deno.writeTextFileSync(`${temp.path}/canary`, "precious secret");
  Deno.chmodSync(temp.path, 0o700);
  const attack = program(
    `
import socket
os.symlink(ARG + "/canary", "/srv/link")
os.symlink(ARG, "/srv/dir")
os.symlink("/proc/self/root", "/srv/proc")
os.mkfifo("/srv/pipe")
socket.socket(socket.AF_UNIX).bind("/srv/socket")
open("/srv/file", "w").write("x")
os.link("/srv/file", "/srv/hard")
os.link("/srv/link", "/srv/hardlink")
os.chmod("/srv/file", 0)`,
    temp.path,
  );
  using place = tempDir();
  const keep = `${place.path}/keep`;
  const before = describeTree(temp.path);
  const args = ["run", "--quiet", "--keep", keep, "--", PYTHON, "-c", attack];
  assertEquals((await minisandbox(args)).stdout, "ok");
  const list = await new Deno.Command("tar", {
    args: ["-xzOf", `${keep}/root.tar.gz`, "--ignore-failed-read"],
  }).output();
  assertEquals(new TextDecoder().decode(list.stdout).includes("precious"), false);
  const shown = await printed("cd /srv; readlink link dir proc; ls", [
    "--from",
    `${keep}/root.tar.gz`,
  ]);
  assertEquals(shown.split("\n").slice(0, 3), [
    `${temp.path}/canary`,
    temp.path,
    "/proc/self/root",
  ]);
  assertStringIncludes(shown, "file\nhard\nhardlink\nlink\npipe\nproc");
  assertEquals(describeTree(temp.path), before);
});

Deno.test("an archive that is made inside cannot write outside when it is shown to another sandbox", async () => {
  using temp = tempDir();
  Deno.mkdirSync(`${temp.path}/work`);
  Deno.chmodSync(`${temp.path}/work`, 0o777);
  Deno.writeTextFileSync(`${temp.path}/canary`, "precious");
  const attack = program(
    `
import io, tarfile
def add(archive, name, kind, link="", data=b""):
    it = tarfile.TarInfo(name)
    it.type, it.linkname, it.size, it.mode = kind, link, len(data), 0o777
    archive.addfile(it, io.BytesIO(data))
def make(name, *members):
    with tarfile.open(f"/work/{name}.tar", "w") as archive:
        for it in members:
            add(archive, *it)
make("up", ("../canary", tarfile.REGTYPE, "", b"evil"))
make("absolute", (ARG + "/canary", tarfile.REGTYPE, "", b"evil"))
make("link", ("d", tarfile.SYMTYPE, ARG), ("d/canary", tarfile.REGTYPE, "", b"evil"))
make("hard", ("c", tarfile.LNKTYPE, ARG + "/canary"), ("c", tarfile.REGTYPE, "", b"evil"))
make("device", ("sda", tarfile.BLKTYPE))`,
    temp.path,
  );
  const bind = ["--bind", `${temp.path}/work:/work:rw`];
  assertEquals(await runInside(attack, bind), "ok");
  const control = ["-xPf", `${temp.path}/work/absolute.tar`, "-C", temp.path];
  await new Deno.Command("tar", { args: control }).output();
  assertEquals(Deno.readTextFileSync(`${temp.path}/canary`), "evil");
  Deno.writeTextFileSync(`${temp.path}/canary`, "precious");
  for (const name of ["up", "absolute", "link", "hard", "device"]) {
    const { code } = await bash("true", ["--layer", `${temp.path}/work/${name}.tar:/opt/x`]);
    assertEquals([name, code], [name, 125]);
  }
  assertEquals(Deno.readTextFileSync(`${temp.path}/canary`), "precious");
  assertEquals(
    await runOutside(program("return open(ARG).read()", `${temp.path}/canary`)),
    "precious",
  );
});
