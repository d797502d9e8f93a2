/** Tests of `run --keep` and `--from`: what was written comes back the same, deletions too. */
import { assertEquals, assertMatch } from "@std/assert";
import { bash, minisandbox, printed, sharedStore } from "../support/minisandbox.ts";
import { onlyAs } from "../support/identity.ts";
import { tempDir } from "../support/temp_dir.ts";

/** Writes, changes, replaces, hides and removes, in both parts of a base host. */
const CHANGES = `
  cd /root && mkdir -p a/b empty && echo one > a/file && ln a/file a/hard && ln -s file a/link
  mkfifo a/fifo && touch -d '2001-02-03 04:05:06.789' a/file && chmod 4711 a/hard && chmod 700 empty
  echo etc >> /etc/motd && rm /etc/shells
  echo new > /usr/local/bin/new && chmod 755 /usr/local/bin/new
  rm /usr/bin/tail && cp /usr/bin/head /usr/bin/other && rm /usr/bin/head
  rm -r /usr/share/common-licenses && mkdir /usr/share/common-licenses && echo x > /usr/share/common-licenses/own
  rm -rf /usr/games && echo file > /usr/games
`;

/** Shows all of it: type, mode, owner, links, size, time, path and target. */
const SHOW = `
  find /root /etc/motd /etc/shells /srv /usr/local /usr/games /usr/share/common-licenses /usr/bin/other /usr/bin/tail \
    /usr/bin/head -printf '%y %m %U:%G %n %s %T@ %p %l\\n' 2>&1 | sort
  cat /root/a/file /etc/motd /usr/games /usr/share/common-licenses/own
`;

Deno.test("what a sandbox wrote comes back from a snapshot as it was", async () => {
  const before = await printed(CHANGES + SHOW, ["--keep", "all"]);
  assertMatch(before, /\/usr\/bin\/tail.: No such file/);
  assertEquals(await printed(SHOW, ["--from", "all"]), before);
});

Deno.test("what a sandbox wrote comes back from an archive as it was", async () => {
  using temp = tempDir();
  const before = await printed(CHANGES + SHOW, ["--keep", `${temp.path}/kept/`]);
  assertEquals([...Deno.readDirSync(`${temp.path}/kept`)].map((it) => it.name), ["root.tar.gz"]);
  assertEquals(await printed(SHOW, ["--from", `${temp.path}/kept/root.tar.gz`]), before);
});

Deno.test("snapshots lie on each other, the last one on top", async () => {
  await printed("echo 1 > /srv/one; echo 1 > /srv/both", ["--keep", "first"]);
  const second = "rm /srv/one; echo 2 > /srv/both; echo 2 > /srv/two";
  await printed(second, ["--from", "first", "--keep", "second"]);
  const both = ["--from", "first", "--from", "second"];
  assertEquals(await printed("cd /srv; ls; cat *", both), "both\ntwo\n2\n2");
});

Deno.test("what is written is kept whatever became of the command", async () => {
  const { code } = await bash("echo x > /srv/f; exit 7", ["--keep", "failed"]);
  assertEquals(code, 7);
  const timedOut = await bash("echo x > /srv/f; sleep 60", ["--keep", "late", "--timeout", "1"]);
  assertEquals(timedOut.code, 124);
  const killed = await bash("echo x > /srv/f; kill -9 $$", ["--keep", "killed"]);
  assertEquals(killed.code, 137);
  for (const name of ["failed", "late", "killed"]) {
    assertEquals(await printed("cat /srv/f", ["--from", name]), "x");
  }
});

Deno.test({
  name: "owners are kept, where there are ids for them",
  ...onlyAs("root", "subordinate"),
  fn: async () => {
    const script = "cd /srv; touch f; chown 1000:33 f; mkdir d; chmod 700 d; chown 5:6 d";
    await printed(script, ["--keep", "owned"]);
    const show = "stat -c '%u:%g %a' /srv/f /srv/d";
    assertEquals(await printed(show, ["--from", "owned"]), "1000:33 644\n5:6 700");
  },
});

Deno.test("what could not be kept is refused before anything runs", async () => {
  using temp = tempDir();
  const taken = ["--keep", "taken"];
  await printed("true", taken);
  const mark = `${temp.path}/mark`;
  Deno.writeTextFileSync(mark, "");
  const refused = async (args: readonly string[], message: string) => {
    const { code, stderr } = await bash(`echo ran > /mark`, [
      ...args,
      ...["--bind", `${mark}:/mark:rw`],
    ]);
    assertEquals([code, stderr], [125, `minisandbox: ${message}\n`]);
    assertEquals(Deno.readTextFileSync(mark), "");
  };
  await refused(
    taken,
    'Cannot make snapshot "taken": there is one already. Give another name, or first: minisandbox ' +
      "snapshot remove taken.",
  );
  await refused(
    ["--keep", "new", "--upper", "tmpfs"],
    "Cannot keep what is written to memory: it ends with the sandbox. Give --upper disk, or leave " +
      "--keep out.",
  );
  await refused(
    ["--from", "none"],
    'Cannot find snapshot "none": no such snapshot. See those there are by: minisandbox snapshot ' +
      "list.",
  );
});

Deno.test("a removed snapshot takes its layer along", async () => {
  const store = sharedStore();
  await printed("echo gone > /srv/gone", ["--keep", "gone"]);
  const layers = async () =>
    JSON.parse((await minisandbox(["layer", "list", "--json"])).stdout).filter((
      { usedBy }: { usedBy: string[] },
    ) => usedBy.includes("snapshot gone")).length;
  assertEquals(await layers(), 1);
  const count = [...Deno.readDirSync(`${store}/layers`)].length;
  const { code, stdout } = await minisandbox(["snapshot", "remove", "gone"]);
  assertEquals([code, stdout], [0, "gone\n"]);
  assertEquals([...Deno.readDirSync(`${store}/layers`)].length, count - 1);
});
