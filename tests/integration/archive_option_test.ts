/** Tests of the options on what is taken from archives. */
import { assertEquals } from "@std/assert";
import { minisandbox, printed, refusal } from "../support/minisandbox.ts";
import { tar } from "../support/tar.ts";
import { tempDir } from "../support/temp_dir.ts";

Deno.test("an archive that unpacks to more than is allowed is refused, and leaves nothing", async () => {
  using temp = tempDir();
  const archive = `${temp.path}/x.tar`;
  Deno.writeFileSync(archive, tar({ name: "a/b/c", body: "x".repeat(9000) }, { name: "d" }));
  const cases = [
    ["--max-bytes=8K", 'entry "a/b/c" at byte 0 goes past the 8192 bytes that are allowed'],
    ["--max-entries=1", 'entry "d" at byte 9728 is one more than the 1 that are allowed'],
    ["--max-depth=2", 'entry "a/b/c" at byte 0 lies more than 2 directories deep'],
  ];
  for (const [option = "", state] of cases) {
    const line = `Cannot unpack "${archive}": ${state}`;
    const verbs = [["layer", "import", "--at=/opt/x", archive], ["base", "import", archive, "x"]];
    for (const verb of verbs) {
      const result = await minisandbox([...verb, "--quiet", option]);
      assertEquals(refusal(result), [125, line], verb.join(" "));
    }
    const run = ["run", "--quiet", option, "-l", `${archive}:/opt/x`, "--", "true"];
    assertEquals(refusal(await minisandbox(run)), [125, line]);
  }
  const { layers } = await json("store", "usage");
  assertEquals(layers.count, 0);
  const enough = ["--max-bytes=64K", "--max-entries=2", "--max-depth=3"];
  const { code } = await minisandbox(["layer", "import", "--at=/opt/x", ...enough, archive]);
  assertEquals(code, 0);
});

Deno.test("a layer without setuid bits is another layer, and so is a base", async () => {
  using temp = tempDir();
  const archive = `${temp.path}/x.tar`;
  Deno.writeFileSync(archive, tar({ name: "a", mode: 0o6755 }));
  const script = "stat -c %a /opt/x/a";
  const layer = ["-l", `${archive}:/opt/x`];
  assertEquals(await printed(script, [...layer, "--setuid=drop"]), "755");
  assertEquals(await printed(script, layer), "6755");
  const dropped = await json("layer", "import", "--setuid=drop", ...layer.slice(1));
  const kept = await json("layer", "import", ...layer.slice(1));
  assertEquals(new Set([...dropped.layers, ...kept.layers].map(({ key }) => key)).size, 2);
  const shown = await json("layer", "show", dropped.layers[0].key);
  assertEquals(shown.setuid, "drop");

  const base = await json("base", "import", "--setuid=drop", archive, "dropped");
  const other = await json("base", "import", archive, "kept");
  assertEquals([base.setuid, other.setuid], ["drop", undefined]);
  assertEquals(new Set([base.digest, other.digest]).size, 2);
  assertEquals((await minisandbox(["store", "verify"])).code, 0);
});

Deno.test("options on archives that cannot be read are refused in one line", async () => {
  const cases = [
    ["--max-bytes=x", 'Cannot read the size "x": no size of 4K or more. Give it as 512M or 2G.'],
    ["--max-entries=0", 'Cannot read --max-entries "0": no whole number. Give 1 or more.'],
    ["--max-depth=-1", 'Cannot read --max-depth "-1": no whole number. Give 1 or more.'],
    ["--setuid=no", 'Cannot read --setuid "no": no such policy. Give keep or drop.'],
  ];
  for (const [option = "", line] of cases) {
    for (const verb of ["layer", "base"]) {
      const result = await minisandbox([verb, "import", option, "a.tar:/opt/x", "b.tar:/opt/y"]);
      assertEquals(refusal(result), [125, line]);
    }
  }
});

async function json(...args: readonly string[]): Promise<ReturnType<typeof JSON.parse>> {
  const { code, stdout, stderr } = await minisandbox([...args, "--json"]);
  assertEquals(code, 0, stderr);
  return JSON.parse(stdout);
}
