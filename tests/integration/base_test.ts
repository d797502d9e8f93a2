/** Tests of bases: root file systems and images, imported and run, on the binary. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { dockerSave, type ImageParts, writeOci } from "../support/image.ts";
import { identity } from "../support/identity.ts";
import { minisandbox, refusal, type Result } from "../support/minisandbox.ts";
import { copyPrograms } from "../support/root.ts";
import { rootFs } from "../support/root_fs.ts";
import { tar } from "../support/tar.ts";
import { tempDir } from "../support/temp_dir.ts";

const CONFIG = { Env: ["PATH=/bin", "HELLO=image"], WorkingDir: "/app", User: "web" };

/** The second layer is there twice, as empty ones are; the last hides a name and a directory. */
function image(): ImageParts {
  return {
    layers: [
      rootFs(
        { name: "app/", type: "5", mode: 0o755 },
        { name: "app/old", body: "old" },
        { name: "data/", type: "5", mode: 0o755 },
        { name: "data/below", body: "below" },
      ),
      [],
      [{ name: "app/", type: "5", mode: 0o755 }, { name: "app/middle", body: "middle" }],
      [],
      [
        { name: "app/.wh.old" },
        { name: "data/.wh..wh..opq" },
        { name: "data/above", body: "above" },
      ],
    ],
    config: CONFIG,
  };
}

function sandbox(
  base: string,
  script: string,
  ...args: string[]
): Promise<Result> {
  const run = ["run", "--quiet", "--base", base, ...args];
  return minisandbox([...run, "--", "/bin/sh", "-c", script]);
}

async function baseImport(...args: string[]): Promise<Result> {
  return await minisandbox(["base", "import", "--quiet", "--json", ...args]);
}

Deno.test("an image is the same base from a layout, its tar, and docker save through stdin", async () => {
  using temp = tempDir();
  writeOci(`${temp.path}/oci`, image());
  await new Deno.Command("tar", {
    args: ["-cf", `${temp.path}/oci.tar`, "-C", `${temp.path}/oci`, "."],
  })
    .output();
  const sources = [[`${temp.path}/oci`, "a"], [`${temp.path}/oci.tar`, "b"]] as const;
  const digests = [];
  for (const [source, name] of sources) {
    const { code, stdout, stderr } = await baseImport(source, name);
    assertEquals([code, stderr], [0, ""]);
    digests.push(JSON.parse(stdout).digest);
  }
  assertEquals(new Set(digests).size, 1);
  const saved = await minisandbox(
    ["base", "import", "--quiet", "--json", "-", "c"],
    { stdin: dockerSave(image()) },
  );
  assertEquals([saved.code, JSON.parse(saved.stdout).source.kind], [0, "docker"], saved.stderr);
  const script = "pwd; echo $HELLO; ls -A /app /data; cat /data/above; id -u";
  for (const name of ["a", "b", "c"]) {
    const { code, stdout, stderr } = await sandbox(name, script);
    assertEquals([code, stderr], [0, ""]);
    assertEquals(
      stdout,
      "/app\nimage\n/app:\nmiddle\n\n/data:\nabove\nabove1234\n",
    );
  }
});

Deno.test("bench engine measures on a base that has a name, as its image says", async () => {
  using temp = tempDir();
  writeOci(`${temp.path}/oci`, image());
  await baseImport(`${temp.path}/oci`, "measured");
  const args = ["bench", "engine", "--base", "measured", "--count", "2", "--json"];
  const script = 'test "$PWD $HELLO" = "/app image" && echo right';
  const { code, stdout, stderr } = await minisandbox([...args, "--", "/bin/sh", "-c", script]);
  assertEquals([code, stderr], [0, ""]);
  assertEquals(JSON.parse(stdout).count, 2);
  const none = await minisandbox(["bench", "engine", "--base", "none"]);
  assertEquals(none.code, 125);
  assertStringIncludes(none.stderr, 'Cannot find base "none": no such base.');
});

Deno.test("what a run says itself stands for what an image says", async () => {
  using temp = tempDir();
  writeOci(`${temp.path}/oci`, image());
  await baseImport(`${temp.path}/oci`, "image");
  const args = ["--workdir", "/data", "--user", "root", "--env", "HELLO=run"];
  const { stdout } = await sandbox("image", "pwd; id -u; echo $HELLO $PATH", ...args);
  assertEquals(stdout, "/data\n0\nrun /bin\n");
});

Deno.test("a root file system is a base, from a tar and from a directory, and can be changed", async () => {
  using temp = tempDir();
  Deno.writeFileSync(`${temp.path}/root.tar`, tar(...rootFs({ name: "srv/f", body: "x" })));
  Deno.mkdirSync(`${temp.path}/root`);
  await new Deno.Command("tar", {
    args: ["--no-same-owner", "-xf", `${temp.path}/root.tar`, "-C", `${temp.path}/root`],
  }).output();
  for (const name of ["root.tar", "root"]) {
    const { code, stderr } = await baseImport(`${temp.path}/${name}`, name);
    assertEquals([code, stderr], [0, ""]);
    const script = "cat /srv/f; echo new > /bin/new; rm /srv/f; ls /srv /bin/new";
    const { stdout } = await sandbox(name, script);
    assertEquals(stdout, "x/bin/new\n\n/srv:\n");
    assertEquals((await sandbox(name, "cat /srv/f; ls /bin")).stdout.includes("new"), false);
  }
});

Deno.test("owners are kept where ids allow, and counted where they became root", async () => {
  using temp = tempDir();
  const members = rootFs(
    { name: "srv/web", body: "", uid: 1234, gid: 1234 },
    { name: "srv/far", body: "", uid: 900_000, gid: 0 },
  );
  Deno.writeFileSync(`${temp.path}/root.tar`, tar(...members));
  const { stdout } = await baseImport(`${temp.path}/root.tar`, "owned");
  const isSingle = identity() === "single";
  assertEquals(JSON.parse(stdout).ownersLost, isSingle ? 2 : 1);
  const found = await sandbox("owned", "stat -c %u:%g /srv/web /srv/far");
  assertEquals(found.stdout, `${isSingle ? "0:0" : "1234:1234"}\n0:0\n`);
});

Deno.test({
  name: "an imported base is refused without user namespaces, with what to do",
  ignore: Deno.uid() !== 0,
  fn: async () => {
    using temp = tempDir();
    copyPrograms(`${temp.path}/root`, ["sh"]);
    const imported = await baseImport(`${temp.path}/root`, "mapped");
    assertEquals(imported.code, 0, imported.stderr);
    const [code, line] = refusal(await sandbox("mapped", "true", "--userns", "off"));
    assertEquals([code, line], [
      125,
      'Cannot use base "mapped": it was imported for other ids than ours. Leave --userns off ' +
      "away, or give --base DIR, a directory.",
    ]);
    const directory = await sandbox(`${temp.path}/root`, "echo works", "--userns", "off");
    assertEquals([directory.code, directory.stdout], [0, "works\n"]);
  },
});

Deno.test("a name is taken once, reserved or refused with the remedy", async () => {
  using temp = tempDir();
  const archive = `${temp.path}/root.tar`;
  Deno.writeFileSync(archive, tar({ name: "f" }));
  assertEquals((await baseImport(archive, "taken")).code, 0);
  const refused = async (source: string, name: string, message: string) => {
    const { code, stderr } = await baseImport(source, name);
    assertEquals([code, stderr], [125, `minisandbox: ${message}\n`]);
  };
  await refused(
    archive,
    "taken",
    'Cannot make base "taken": there is one already. Give another name, or first: minisandbox base ' +
      "remove taken.",
  );
  const remedy = "Give a name such as debian-13: letters, digits and . _ : @ + -.";
  await refused(
    archive,
    "host",
    `Cannot use "host" as name of a base: it is reserved. ${remedy}`,
  );
  await refused(
    archive,
    "a/b",
    'Cannot use "a/b" as name of a base: it holds other characters, is empty or too long. ' +
      remedy,
  );
  await refused(
    `${temp.path}/none`,
    "two",
    `Cannot import "${temp.path}/none": no such file or directory`,
  );
  const missing = await sandbox("none", "true");
  assertStringIncludes(
    missing.stderr,
    'Cannot find base "none": no such base. See those there are',
  );
});

Deno.test("an image that is damaged, or names files outside, is refused and leaves nothing", async () => {
  using temp = tempDir();
  // Its own: a layer that is in the store already is not read again.
  const [blob] = writeOci(`${temp.path}/oci`, { layers: [[{ name: "own", body: temp.path }]] });
  const bytes = Deno.readFileSync(blob!);
  bytes[bytes.length - 1]! ^= 1;
  Deno.writeFileSync(blob!, bytes);
  const damaged = await baseImport(`${temp.path}/oci`, "damaged");
  assertEquals(damaged.code, 125);
  assertStringIncludes(damaged.stderr, "its SHA-256 is");

  Deno.writeFileSync(`${temp.path}/secret.tar`, tar({ name: "secret", body: "secret" }));
  for (const path of ["../../../../../../../..", "link"]) {
    const secret = path === "link" ? "link" : `${path}${temp.path}/secret.tar`;
    const manifest = JSON.stringify([{ Config: "config.json", Layers: [secret] }]);
    Deno.writeFileSync(
      `${temp.path}/evil.tar`,
      tar(
        { name: "config.json", body: "{}" },
        { name: "link", type: "2", target: `${temp.path}/secret.tar` },
        { name: "manifest.json", body: manifest },
      ),
    );
    const evil = await baseImport(`${temp.path}/evil.tar`, "evil");
    assertEquals(evil.code, 125);
    assertStringIncludes(evil.stderr, "is no file in it");
  }
  const bases = await minisandbox(["base", "list", "--json"]);
  const names = (JSON.parse(bases.stdout) as { readonly name: string }[]).map(({ name }) => name);
  assertEquals([names.includes("damaged"), names.includes("evil")], [false, false]);
});

Deno.test("a base that is removed takes its layers along, but none that another needs", async () => {
  using temp = tempDir();
  writeOci(`${temp.path}/oci`, { layers: [rootFs({ name: "own", body: temp.path })] });
  const json = async (...args: string[]) => JSON.parse((await minisandbox(args)).stdout);
  const { keys: [key] } = JSON.parse((await baseImport(`${temp.path}/oci`, "one")).stdout);
  await baseImport(`${temp.path}/oci`, "two");
  const isThere = async () =>
    (await json("layer", "list", "--json")).some((layer: { key: string }) => layer.key === key);
  const refused = await minisandbox(["layer", "remove", key]);
  assertStringIncludes(refused.stderr, "base one, base two needs it. Remove that first.");
  assertEquals((await minisandbox(["base", "remove", "one"])).stdout, "one\n");
  assertEquals(await isThere(), true);
  assertEquals((await minisandbox(["base", "remove", "two"])).stdout, "two\n");
  assertEquals(await isThere(), false);
});
