/** Tests of archives that are shown inside as layers. */
import { assertEquals, assertMatch } from "@std/assert";
import { packFiles, packTree } from "../support/archive.ts";
import { identity } from "../support/identity.ts";
import { bash, minisandbox, printed, refusal, sharedStore } from "../support/minisandbox.ts";
import { requires } from "../support/requirement.ts";
import { tar } from "../support/tar.ts";
import { tempDir } from "../support/temp_dir.ts";

const WRITE = (path: string) => `
  echo new > ${path}/new && rm ${path}/a && echo changed >> ${path}/b && mv ${path}/d ${path}/e &&
  mkdir ${path}/d && ls -R ${path} | tr '\\n' ' '`;

Deno.test("a layer is unpacked once, and what one run changes no other sees", async () => {
  using temp = tempDir();
  const files = { a: "a\n", b: "b\n", "d/f": "f\n" };
  const archive = await packFiles(temp.path, "x.tar.gz", files);
  const args = ["--layer", `${archive}:/opt/x`];
  const changed = "/opt/x: b d e new  /opt/x/d:  /opt/x/e: f ";
  const first = await minisandbox(["run", ...args, "--", "bash", "-c", WRITE("/opt/x")]);
  assertEquals([first.code, first.stdout], [0, changed]);
  assertMatch(first.stderr, /unpacking "[^"]+x\.tar\.gz" \(.*\) for \/opt\/x\n/);
  const second = await minisandbox(["run", ...args, "--", "bash", "-c", WRITE("/opt/x")]);
  assertEquals([second.code, second.stdout, second.stderr], [0, changed, ""]);
});

Deno.test("layers lie wherever they are asked to, also below /usr and in each other", async () => {
  using temp = tempDir();
  const layer = async (name: string, path: string) => {
    const archive = await packFiles(temp.path, `${name}.tar.gz`, { a: name, b: "", "d/f": "" });
    return ["-l", `${archive}:${path}`];
  };
  const args = [
    await layer("one", "/opt/one"),
    await layer("two", "/usr/share/two"),
    await layer("three", "/opt/one/d/three"),
    await layer("four", "/usr/lib/x/y/z/four"),
    await layer("five", "/new/place"),
    await layer("six", "/home/agent/six"),
  ].flat();
  const places = "/opt/one/d/three /opt/one /usr/share/two /usr/lib/x/y/z/four /new/place " +
    "/home/agent/six";
  assertEquals(
    await printed(`for p in ${places}; do echo "$(cat $p/a)"; rm -r $p; mkdir $p; done`, args),
    "three\none\ntwo\nfour\nfive\nsix",
  );
  // What the base has beside a layer stays.
  assertEquals(await printed("test -e /usr/bin/env && ls /usr/lib | grep -cx x", args), "1");
});

Deno.test("the last of two layers lies on top where one holds the other's path", async () => {
  using temp = tempDir();
  const below = await packFiles(temp.path, "below.tar.gz", { "x/f": "below\n", "x/g": "g\n" });
  const above = await packFiles(temp.path, "above.tar.gz", { f: "above\n" });
  assertEquals(
    await printed("cat /opt/x/f /opt/x/g", ["-l", `${below}:/opt`, "-l", `${above}:/opt/x`]),
    "above\ng",
  );
});

Deno.test({
  name: "a venv and a repository of another owner work as layers",
  ...requires("venv", "git"),
  fn: async () => {
    using temp = tempDir();
    const make = `/usr/bin/python3 -m venv venv && mkdir repo && cd repo && git init -q -b main &&
      echo 'print("hello from the repository")' > hello.py && git add . &&
      git -c user.name=x -c user.email=x@example.com commit -qm first`;
    const { success } = await new Deno.Command("bash", { args: ["-c", make], cwd: temp.path })
      .output();
    assertEquals(success, true);
    const venv = await packTree(`${temp.path}/venv`, `${temp.path}/venv.tar.gz`);
    const repo = await packTree(
      `${temp.path}/repo`,
      `${temp.path}/repo.tar.gz`,
      ...["--owner=1234", "--group=1234"],
    );
    const args = ["-l", `${venv}:${temp.path}/venv`, "-l", `${repo}:/testbed`, "-w", "/testbed"];
    // A venv is bound to its place; /tmp is the sandbox's own, so it is shown at another.
    const own = ["-l", `${venv}:/opt/venv`, ...args.slice(2)];
    const script = `git status --short && git log --format=%s && /opt/venv/bin/python hello.py &&
      /opt/venv/bin/python -c 'import sys; print(sys.prefix)' &&
      /opt/venv/bin/python -m pip --version | cut -d ' ' -f 4 &&
      echo x > new && git add new && git -c user.name=y -c user.email= commit -qm second &&
      git log --format=%s`;
    assertEquals(
      await printed(script, own),
      [
        "first",
        "hello from the repository",
        "/opt/venv",
        `/opt/venv/lib/${await printed("cd /opt/venv/lib; echo *", own)}/site-packages/pip`,
        "second",
        "first",
      ].join("\n"),
    );
    assertEquals(refusal(await minisandbox(["run", ...args, "--", "true"]))[0], 125);
  },
});

Deno.test("owners of an archive are kept where this user has ids for them", async () => {
  using temp = tempDir();
  const archive = `${temp.path}/x.tar`;
  Deno.writeFileSync(
    archive,
    tar(
      { name: "root", uid: 0, gid: 0, body: "x", mode: 0o600 },
      { name: "agent", uid: 1000, gid: 1000, body: "y", mode: 0o640 },
    ),
  );
  const kept = identity() === "single" ? "0 0 640" : "1000 1000 640";
  assertEquals(
    await printed("stat -c '%u %g %a' /opt/x/*; cat /opt/x/agent", ["-l", `${archive}:/opt/x`]),
    `${kept}\n0 0 600\ny`,
  );
});

Deno.test("a changed archive is another layer", async () => {
  using temp = tempDir();
  const show = async (text: string) => {
    const archive = await packFiles(temp.path, "x.tar.gz", { f: text });
    return await printed("cat /opt/x/f", ["-l", `${archive}:/opt/x`]);
  };
  assertEquals([await show("one"), await show("two"), await show("one")], ["one", "two", "one"]);
});

Deno.test("thirty-two at once, from as many processes, unpack a new layer once", async () => {
  using temp = tempDir();
  const archive = await packFiles(temp.path, "x.tar.gz", { f: "x".repeat(100_000), "d/g": "" });
  const before = layersOf();
  const script = "test $(stat -c %s /opt/x/f) = 100000 && echo $0 > /opt/x/f && cat /opt/x/f";
  const args = ["run", "--layer", `${archive}:/opt/x`, "--", "bash", "-c", script];
  const results = await Promise.all(
    Array.from({ length: 32 }, (_, i) => minisandbox([...args, String(i)])),
  );
  assertEquals(
    results.map(({ code, stdout }) => [code, stdout]),
    results.map((_, i) => [0, `${i}\n`]),
  );
  const unpacked = results.filter(({ stderr }) => /minisandbox: unpacked /.test(stderr));
  assertEquals([layersOf().length - before.length, unpacked.length], [1, 32 - waitedFor(results)]);
  // Those who waited, or came later, found it there.
  assertEquals(results.filter(({ stderr }) => /minisandbox: unpacking /.test(stderr)).length, 1);
});

Deno.test("two layers at one path are refused in one line", async () => {
  const args = ["run", "-l", "a.tar:/opt/x", "-l", "b.tar:/opt/x/", "--", "true"];
  assertEquals(refusal(await minisandbox(args)), [
    125,
    'Cannot show two layers at "/opt/x": one would hide the other. ' +
    "Give each layer a path of its own.",
  ]);
});

Deno.test("set-user-id programs of a layer give nobody another id", async () => {
  using temp = tempDir();
  const archive = `${temp.path}/x.tar`;
  const id = Deno.readFileSync("/usr/bin/id");
  Deno.writeFileSync(archive, tar({ name: "id", body: id, mode: 0o6755, uid: 0 }));
  const { stdout } = await bash("/opt/x/id -u", ["-l", `${archive}:/opt/x`, "-u", "1000"]);
  assertEquals(stdout, "1000\n");
});

function layersOf(): string[] {
  return [...Deno.readDirSync(`${sharedStore()}/layers`)].map(({ name }) => name);
}

/** How many said nothing of unpacking at its end: they neither unpacked nor waited. */
function waitedFor(results: readonly { readonly stderr: string }[]): number {
  return results.filter(({ stderr }) => !/minisandbox: unpacked /.test(stderr)).length;
}

Deno.test({
  name: "git takes the files of a layer for what its index says, and writes nothing for that",
  ...requires("git"),
  fn: async () => {
    using temp = tempDir();
    const make = `mkdir repo && cd repo && git init -q -b main && echo one > a && echo two > b &&
      touch -d 2020-01-01 a b && git add . &&
      git -c user.name=x -c user.email=x commit -qm first && touch -d 2030-01-01 .git/index`;
    const made = await new Deno.Command("bash", { args: ["-ec", make], cwd: temp.path }).output();
    assertEquals(new TextDecoder().decode(made.stderr), "");
    const archive = `${temp.path}/repo.tar.gz`;
    await new Deno.Command("tar", { args: ["-C", `${temp.path}/repo`, "-czf", archive, "."] })
      .output();
    const script = `stat -c '%i %y' .git/index > /tmp/before; git status --short;
      stat -c '%i %y' .git/index | cmp - /tmp/before && echo unwritten;
      echo ONE > a; git status --short; git stash -q; cat a`;
    const args = ["run", "--quiet", "-l", `${archive}:/repo`, "-w", "/repo", "-e", "EMAIL=x@y"];
    const { stdout, stderr } = await minisandbox([...args, "--", "sh", "-c", script]);
    assertEquals([stdout, stderr], ["unwritten\n M a\none\n", ""]);
  },
});
