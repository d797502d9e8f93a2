/** Tests of environments: imported, shown, run and removed, on the binary. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { createHash } from "node:crypto";
import { minisandbox, removeStore, sharedStore } from "../support/minisandbox.ts";
import { tar } from "../support/tar.ts";
import { tempDir } from "../support/temp_dir.ts";

async function ok(args: readonly string[], stdin = ""): Promise<string> {
  const { code, stdout, stderr } = await minisandbox(args, { stdin });
  assertEquals([code, stderr], [0, ""]);
  return stdout.trim();
}

async function refused(args: readonly string[], stdin = ""): Promise<string> {
  const { code, stderr } = await minisandbox(args, { stdin });
  assertEquals(code, 125);
  return stderr.trim();
}

/** Writes two archives and a manifest that names one by its path, the other by both. */
function prepare(dir: string): { manifest: string; sha256: string } {
  Deno.mkdirSync(`${dir}/data`);
  Deno.writeFileSync(
    `${dir}/data/venv.tar`,
    tar({ name: "bin/tool", body: "#!/bin/sh\necho $X\n", mode: 0o755 }),
  );
  const repository = tar({ name: "README", body: "read me\n" });
  Deno.writeFileSync(`${dir}/data/repository.tar`, repository);
  const sha256 = createHash("sha256").update(repository).digest("hex");
  const manifest = `${dir}/tools.json`;
  Deno.writeTextFileSync(
    manifest,
    JSON.stringify({
      layers: [
        { archive: "data/venv.tar", path: "/opt/venv" },
        { archive: "data/repository.tar", sha256, path: "/testbed" },
      ],
      env: { X: "environment", PATH: "/opt/venv/bin:/usr/bin:/bin" },
      workdir: "/testbed",
    }),
  );
  return { manifest, sha256 };
}

Deno.test("an environment has the same digest in every store, and runs what it says", async () => {
  using temp = tempDir();
  const { manifest } = prepare(temp.path);
  const digests: string[] = [];
  for (const name of ["one", "two"]) {
    const store = `${temp.path}/${name}`;
    const line = await ok(["environment", "import", "--quiet", "--store", store, manifest, name]);
    const [digest = "", shown] = line.split(" ");
    assertEquals(shown, name);
    digests.push(digest);
    const show = ["environment", "show", "--json", "--store", store, name];
    assertEquals(JSON.parse(await ok(show)).digest, digest);
    const run = ["run", "--quiet", "--store", store, "--environment", name];
    assertEquals(
      await ok([...run, "--", "sh", "-c", "pwd; tool; cat README"]),
      "/testbed\nenvironment\nread me",
    );
    await removeStore(store);
  }
  assertEquals(digests[0], digests[1]);
  // Known, so that it stays so.
  assertEquals(digests[0], "13e84e552793a745b0c74b135583943ba3cb270ba553899c26cca1a068826f7f");
});

Deno.test("what a run says is added to its environment, or stands for it", async () => {
  using temp = tempDir();
  const { manifest } = prepare(temp.path);
  await ok(["environment", "import", "--quiet", manifest, "tools"]);
  Deno.writeFileSync(`${temp.path}/more.tar`, tar({ name: "f", body: "more\n" }));
  const more = ["--layer", `${temp.path}/more.tar:/more`, "-e", "X=run", "-w", "/more"];
  const run = ["run", "--quiet", "--environment", "tools", ...more];
  assertEquals(await ok([...run, "--", "sh", "-c", "pwd; tool; cat f"]), "/more\nrun\nmore");
  const spec = `${temp.path}/spec.json`;
  Deno.writeTextFileSync(
    spec,
    JSON.stringify({
      environment: "tools",
      env: { X: "spec" },
      command: ["tool"],
    }),
  );
  assertEquals(await ok(["run", "--quiet", "--spec", spec]), "spec");
  await ok(["environment", "remove", "tools"]);
});

Deno.test("a layer that is in the store needs no archive, only its digest", async () => {
  using temp = tempDir();
  const { sha256 } = prepare(temp.path);
  const manifest = JSON.stringify({ layers: [{ sha256, path: "/repository" }] });
  assertEquals(
    await refused(["environment", "import", "-", "digest"], manifest),
    `minisandbox: Cannot show a layer at "/repository": ${sha256} is not here. Import its archive: ` +
      "minisandbox layer import ARCHIVE:/repository.",
  );
  await ok(["layer", "import", "--quiet", `${temp.path}/data/repository.tar:/repository`]);
  Deno.removeSync(`${temp.path}/data/repository.tar`);
  await ok(["environment", "import", "-", "digest"], manifest);
  const run = ["run", "--quiet", "--environment", "digest", "--", "cat", "/repository/README"];
  assertEquals(await ok(run), "read me");
  const { key } = JSON.parse(await ok(["layer", "list", "--json"]))
    .find(({ path }: { path: string }) => path === "/repository");
  assertStringIncludes(await refused(["layer", "remove", key]), "environment digest needs it");
  const gc = JSON.parse(await ok(["store", "gc", "--max-size", "4K", "--json"]));
  assertEquals(gc.removed.some(({ name }: { name: string }) => name === key), false);
  await ok(["environment", "remove", "digest"]);
});

Deno.test("a manifest that is wrong is refused with the field's name", async () => {
  sharedStore();
  const message = async (manifest: unknown) => {
    const text = typeof manifest === "string" ? manifest : JSON.stringify(manifest);
    const said = await refused(["environment", "import", "-", "wrong"], text);
    return said.replace('minisandbox: Cannot read the environment "-": ', "")
      .replace(" See its fields by: minisandbox environment --help.", "");
  };
  const layer = { archive: "x.tar", path: "/x" };
  assertStringIncludes(await message("{"), "It must be one JSON object.");
  const cases: readonly (readonly [unknown, string])[] = [
    [{ layer: [] }, 'no field is called "layer".'],
    [{ layers: {} }, "layers: it must be an array."],
    [{ layers: [{ path: "/x" }] }, "layers.0: archive or sha256 must be given."],
    [
      { layers: [{ archive: "x" }] },
      "layers.0.path: it is missing.",
    ],
    [{ layers: [{ ...layer, sha256: "ab" }] }, "layers.0.sha256: no SHA-256 in hexadecimal."],
    [{ env: { A: 1 } }, "env.A: it must be a string."],
    [{ workdir: "x" }, "workdir: it is not absolute."],
  ];
  for (const [manifest, expected] of cases) assertEquals(await message(manifest), expected);
  assertStringIncludes(
    await refused(["environment", "import", "-", "wrong"], JSON.stringify({ base: "/srv/root" })),
    "it is a path. Import it first: minisandbox base import DIR NAME",
  );
  assertStringIncludes(
    await refused(
      ["environment", "import", "-", "wrong"],
      JSON.stringify({ layers: [layer, layer] }),
    ),
    'Cannot show two layers at "/x"',
  );
});
