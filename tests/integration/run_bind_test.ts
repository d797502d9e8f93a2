/** Tests of paths of the host that are shown inside. */
import { assertEquals } from "@std/assert";
import { minisandbox, printed, refusal } from "../support/minisandbox.ts";
import { identity, onlyAs } from "../support/identity.ts";
import { tempDir } from "../support/temp_dir.ts";

/** Makes a directory with a file in it, open to all. */
function prepare(dir: string): string {
  Deno.mkdirSync(dir);
  Deno.chmodSync(dir, 0o777);
  Deno.writeTextFileSync(`${dir}/file`, "from outside\n");
  Deno.chmodSync(`${dir}/file`, 0o666);
  return dir;
}

Deno.test("a bind shows a directory, and lets nothing be written unless told to", async () => {
  using temp = tempDir();
  const source = prepare(`${temp.path}/shared`);
  const script =
    "cat /mnt/x/file; for f in /mnt/x/file /mnt/x/new; do (echo y > $f) 2>&1; done; true";
  const refused = (name: string) => `bash: line 1: ${name}: Read-only file system`;
  const expected = ["from outside", refused("/mnt/x/file"), refused("/mnt/x/new")].join("\n");
  for (const mode of ["", ":ro"]) {
    assertEquals(await printed(script, ["--bind", `${source}:/mnt/x${mode}`]), expected);
  }
  assertEquals(Deno.readTextFileSync(`${source}/file`), "from outside\n");
});

Deno.test("a bind that may be written changes the host, and files made there are ours", async () => {
  using temp = tempDir();
  const source = prepare(`${temp.path}/shared`);
  const script = "echo inside > /mnt/x/file; echo new > /mnt/x/new";
  assertEquals(await printed(script, ["--bind", `${source}:/mnt/x:rw`]), "");
  assertEquals(Deno.readTextFileSync(`${source}/file`), "inside\n");
  assertEquals(Deno.readTextFileSync(`${source}/new`), "new\n");
  if (identity() !== "root") assertEquals(Deno.lstatSync(`${source}/new`).uid, Deno.uid());
});

Deno.test("a bound directory cannot be made writable, executable by another id, or hold devices", async () => {
  using temp = tempDir();
  const source = prepare(`${temp.path}/shared`);
  const script = "awk '$5 == \"/mnt/x\" { print $6 }' /proc/self/mountinfo";
  const flags = async (mode: string) =>
    (await printed(script, ["--bind", `${source}:/mnt/x:${mode}`])).split(",").slice(0, 3);
  assertEquals(await flags("ro"), ["ro", "nosuid", "nodev"]);
  assertEquals(await flags("rw"), ["rw", "nosuid", "nodev"]);
});

Deno.test("one file can be bound, also over one that is there", async () => {
  using temp = tempDir();
  const source = prepare(`${temp.path}/shared`);
  const args = ["--bind", `${source}/file:/srv/a/b/file`, "--bind", `${source}/file:/etc/motd`];
  assertEquals(
    await printed("cat /srv/a/b/file /etc/motd; stat -c %F /srv/a/b/file", args),
    "from outside\nfrom outside\nregular file",
  );
});

Deno.test("a bind comes with what is mounted below it", async () => {
  // /dev/pts is mounted below /dev on every Linux.
  assertEquals(await printed("stat -f -c %T /mnt/dev/pts", ["--bind", "/dev:/mnt/dev"]), "devpts");
});

Deno.test("a bind may lie below a layer's place, below /tmp, and below another bind", async () => {
  using temp = tempDir();
  const source = prepare(`${temp.path}/shared`);
  Deno.mkdirSync(`${source}/inner`);
  const args = [`${source}:/tmp/a`, `${source}/file:/tmp/a/inner/b`, `${source}:/run/c`]
    .flatMap((bind) => ["--bind", bind]);
  Deno.writeTextFileSync(`${source}/inner/b`, "below\n");
  const script = "cat /tmp/a/file /tmp/a/inner/b /run/c/inner/b";
  assertEquals(await printed(script, args), "from outside\nfrom outside\nbelow");
});

Deno.test("names with blanks, quotes and commas are bound as they are", async () => {
  using temp = tempDir();
  for (const name of ["a b", "a,b", "a'b\"c", "é😀", "a\\b", "a\nb", "-rf", "n".repeat(255)]) {
    const source = prepare(`${temp.path}/${name}`);
    const env = { TARGET: `/srv/${name}` };
    const args = ["-e", "TARGET", "--bind", `${source}:/srv/${name}`];
    assertEquals(
      await printed('cat "$TARGET/file"; ls -A /srv | wc -l', args, { env }),
      [
        "from outside",
        name.includes("\n") ? "2" : "1",
      ].join("\n"),
    );
  }
});

Deno.test("a bind follows the source's links on the host, never the target's inside", async () => {
  using temp = tempDir();
  const source = prepare(`${temp.path}/shared`);
  Deno.symlinkSync(source, `${temp.path}/link`);
  const args = ["--bind", `${temp.path}/link:/var/run/x`]; // /var/run leads to /run inside
  assertEquals(await printed("cat /run/x/file", args), "from outside");
});

Deno.test("a relative source is taken from our working directory", async () => {
  using temp = tempDir();
  prepare(`${temp.path}/shared`);
  const args = ["--bind", "shared/file:/srv/file"];
  assertEquals(await printed("cat /srv/file", args, { cwd: temp.path }), "from outside");
});

Deno.test({
  name: "a bind of what we may not look at is refused in one line",
  ...onlyAs("subordinate", "single"),
  fn: async () => {
    assertEquals(refusal(await minisandbox(["run", "--bind", "/root/x:/x", "--", "true"])), [
      125,
      'Cannot bind "/root/x": permission denied',
    ]);
  },
});

Deno.test("a bind at a directory's link is refused with what to give instead", async () => {
  const [code, line] = refusal(await minisandbox(["run", "--bind", "/usr:/var/run", "--", "true"]));
  assertEquals([code, line.split(". ").at(-1)], [
    125,
    "The target is a link inside: give the path that it leads to.",
  ]);
});

Deno.test("a bind that cannot be is refused in one line", async () => {
  const bind = async (text: string) =>
    refusal(await minisandbox(["run", "--bind", text, "--", "true"]));
  const form = (text: string) => [
    125,
    `Cannot read --bind ${JSON.stringify(text)}: it is no SRC:DST[:ro|rw]. ` +
    "Give paths that hold a colon by --spec FILE.",
  ];
  for (const text of ["/usr", "/usr:", ":/usr", "/usr:/x:rx", "/usr:/x:ro:rw", "/a:b:/c:/d"]) {
    assertEquals(await bind(text), form(text) as [number, string]);
  }
  assertEquals(await bind("/no/such:/x"), [
    125,
    'Cannot bind "/no/such": there is no such file or directory',
  ]);
  assertEquals(await bind("/usr:x"), [125, 'Cannot use the bind target "x": it is not absolute']);
  assertEquals(await bind("/usr:/"), [125, 'Cannot use the bind target "/": it is the root']);
  assertEquals(await bind("/usr:/a/../b"), [
    125,
    'Cannot use the bind target "/a/../b": it holds ".."',
  ]);
});
