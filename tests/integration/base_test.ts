/** Tests of bases: root file systems and images, imported and run, on the binary. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { dockerSave, type ImageParts, writeOci } from "../support/image.ts";
import { identity } from "../support/identity.ts";
import { minisandbox, removeStore, type Result } from "../support/minisandbox.ts";
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

function sandbox(store: string, base: string, script: string, ...args: string[]): Promise<Result> {
  const run = ["run", "--quiet", "--store", store, "--base", base, ...args];
  return minisandbox([...run, "--", "/bin/sh", "-c", script]);
}

async function baseImport(store: string, ...args: string[]): Promise<Result> {
  return await minisandbox(["base", "import", "--quiet", "--json", "--store", store, ...args]);
}

Deno.test("an image is the same base from a layout, its tar, and docker save through stdin", async () => {
  using temp = tempDir();
  const store = `${temp.path}/store`;
  writeOci(`${temp.path}/oci`, image());
  await new Deno.Command("tar", {
    args: ["-cf", `${temp.path}/oci.tar`, "-C", `${temp.path}/oci`, "."],
  })
    .output();
  const sources = [[`${temp.path}/oci`, "a"], [`${temp.path}/oci.tar`, "b"]] as const;
  const digests = [];
  for (const [source, name] of sources) {
    const { code, stdout, stderr } = await baseImport(store, source, name);
    assertEquals([code, stderr], [0, ""]);
    digests.push(JSON.parse(stdout).digest);
  }
  assertEquals(new Set(digests).size, 1);
  const saved = await minisandbox(
    ["base", "import", "--quiet", "--json", "--store", store, "-", "c"],
    { stdin: dockerSave(image()) },
  );
  assertEquals([saved.code, JSON.parse(saved.stdout).source.kind], [0, "docker"], saved.stderr);
  const script = "pwd; echo $HELLO; ls -A /app /data; cat /data/above; id -u";
  for (const name of ["a", "b", "c"]) {
    const { code, stdout, stderr } = await sandbox(store, name, script);
    assertEquals([code, stderr], [0, ""]);
    assertEquals(
      stdout,
      "/app\nimage\n/app:\nmiddle\n\n/data:\nabove\nabove1234\n",
    );
  }
  await removeStore(store);
});

Deno.test("what a run says itself stands for what an image says", async () => {
  using temp = tempDir();
  const store = `${temp.path}/store`;
  writeOci(`${temp.path}/oci`, image());
  await baseImport(store, `${temp.path}/oci`, "image");
  const args = ["--workdir", "/data", "--user", "root", "--env", "HELLO=run"];
  const { stdout } = await sandbox(store, "image", "pwd; id -u; echo $HELLO $PATH", ...args);
  assertEquals(stdout, "/data\n0\nrun /bin\n");
  await removeStore(store);
});

Deno.test("a root file system is a base, from a tar and from a directory, and can be changed", async () => {
  using temp = tempDir();
  const store = `${temp.path}/store`;
  Deno.writeFileSync(`${temp.path}/root.tar`, tar(...rootFs({ name: "srv/f", body: "x" })));
  Deno.mkdirSync(`${temp.path}/root`);
  await new Deno.Command("tar", {
    args: ["--no-same-owner", "-xf", `${temp.path}/root.tar`, "-C", `${temp.path}/root`],
  }).output();
  for (const name of ["root.tar", "root"]) {
    const { code, stderr } = await baseImport(store, `${temp.path}/${name}`, name);
    assertEquals([code, stderr], [0, ""]);
    const script = "cat /srv/f; echo new > /bin/new; rm /srv/f; ls /srv /bin/new";
    const { stdout } = await sandbox(store, name, script);
    assertEquals(stdout, "x/bin/new\n\n/srv:\n");
    assertEquals((await sandbox(store, name, "cat /srv/f; ls /bin")).stdout.includes("new"), false);
  }
  await removeStore(store);
});

Deno.test("owners are kept where ids allow, and counted where they became root", async () => {
  using temp = tempDir();
  const store = `${temp.path}/store`;
  const members = rootFs(
    { name: "srv/web", body: "", uid: 1234, gid: 1234 },
    { name: "srv/far", body: "", uid: 900_000, gid: 0 },
  );
  Deno.writeFileSync(`${temp.path}/root.tar`, tar(...members));
  const { stdout } = await baseImport(store, `${temp.path}/root.tar`, "owned");
  const isSingle = identity() === "single";
  assertEquals(JSON.parse(stdout).ownersLost, isSingle ? 2 : 1);
  const found = await sandbox(store, "owned", "stat -c %u:%g /srv/web /srv/far");
  assertEquals(found.stdout, `${isSingle ? "0:0" : "1234:1234"}\n0:0\n`);
  await removeStore(store);
});

Deno.test("a name is taken once, reserved or refused with the remedy", async () => {
  using temp = tempDir();
  const store = `${temp.path}/store`;
  const archive = `${temp.path}/root.tar`;
  Deno.writeFileSync(archive, tar({ name: "f" }));
  assertEquals((await baseImport(store, archive, "one")).code, 0);
  const refused = async (source: string, name: string, message: string) => {
    const { code, stderr } = await baseImport(store, source, name);
    assertEquals([code, stderr], [125, `minisandbox: ${message}\n`]);
  };
  await refused(
    archive,
    "one",
    'Cannot make base "one": there is one already. Give another name, or first: minisandbox base ' +
      "remove one.",
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
  const missing = await sandbox(store, "none", "true");
  assertStringIncludes(
    missing.stderr,
    'Cannot find base "none": no such base. See those there are',
  );
  await removeStore(store);
});

Deno.test("an image that is damaged, or names files outside, is refused and leaves nothing", async () => {
  using temp = tempDir();
  const store = `${temp.path}/store`;
  const blobs = writeOci(`${temp.path}/oci`, image());
  const bytes = Deno.readFileSync(blobs[2]!);
  bytes[bytes.length - 1]! ^= 1;
  Deno.writeFileSync(blobs[2]!, bytes);
  const damaged = await baseImport(store, `${temp.path}/oci`, "damaged");
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
    const evil = await baseImport(store, `${temp.path}/evil.tar`, "evil");
    assertEquals(evil.code, 125);
    assertStringIncludes(evil.stderr, "is no file in it");
  }
  const bases = await minisandbox(["base", "list", "--json", "--store", store]);
  assertEquals(JSON.parse(bases.stdout), []);
  await removeStore(store);
});

Deno.test("a base that is removed takes its layers along, but none that another needs", async () => {
  using temp = tempDir();
  const store = `${temp.path}/store`;
  writeOci(`${temp.path}/oci`, image());
  await baseImport(store, `${temp.path}/oci`, "one");
  await baseImport(store, `${temp.path}/oci`, "two");
  const layers = async () =>
    JSON.parse((await minisandbox(["layer", "list", "--json", "--store", store])).stdout).length;
  const remove = (name: string) => minisandbox(["base", "remove", "--store", store, name]);
  assertEquals(await layers(), 4);
  const [{ key }] = JSON.parse(
    (await minisandbox(["layer", "list", "--json", "--store", store])).stdout,
  );
  const refused = await minisandbox(["layer", "remove", "--store", store, key]);
  assertStringIncludes(refused.stderr, "base one, base two needs it. Remove that first.");
  assertEquals([(await remove("one")).code, await layers()], [0, 4]);
  assertEquals([(await remove("two")).code, await layers()], [0, 0]);
  await removeStore(store);
});
