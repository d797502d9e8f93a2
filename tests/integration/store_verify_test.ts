/** Tests of `store verify`: every damage is found and named, nothing else is. */
import { assertEquals } from "@std/assert";
import { createHash } from "node:crypto";
import { onlyAs } from "../support/identity.ts";
import { minisandbox, sharedStore } from "../support/minisandbox.ts";
import { pax, tar } from "../support/tar.ts";
import { tempDir } from "../support/temp_dir.ts";

interface Verified {
  readonly entries: number;
  readonly faults: readonly { readonly path: string; readonly state: string }[];
}

const MEMBERS = [
  { name: "d/", type: "5", mode: 0o750, mtime: 1_600_000_000 },
  { name: "d/file", body: "content", mode: 0o640, mtime: 1_600_000_001 },
  { name: "d/other", body: "more", mtime: 1_600_000_001 },
  { name: "d/set", body: "#!", mode: 0o4755 },
  { name: "d/closed", body: "x", mode: 0 },
  { name: "d/link", type: "1", target: "d/file" },
  { name: "d/symlink", type: "2", target: "../d/file" },
  { name: "d/fifo", type: "6" },
  { name: Uint8Array.of(0x64, 0x2f, 0xff, 0xe9), body: "bytes" },
  pax({ mtime: "1600000000.123456789", path: `d/${"long".repeat(60)}` }),
  { name: "d/long", body: "long" },
  { name: "implied/deep/file", body: "y" },
  { name: "twice", body: "first" },
  { name: "twice", body: "second" },
  { name: "owned", body: "", uid: 33, gid: 33 },
];

interface Imported {
  readonly key: string;
  /** The directory that was unpacked into. */
  readonly tree: string;
}

/** Imports a layer of its own, since it is to be damaged. */
async function importLayer(dir: string): Promise<Imported> {
  const archive = `${dir}/x.tar`;
  Deno.writeFileSync(archive, tar(...MEMBERS, { name: "own", body: dir }));
  const args = ["layer", "import", "--quiet", "--json", `${archive}:/opt/x`];
  const { code, stdout, stderr } = await minisandbox(args);
  assertEquals([code, stderr], [0, ""]);
  const [{ key }] = JSON.parse(stdout).layers;
  return { key, tree: `${sharedStore()}/layers/${key}/tree/opt/x` };
}

async function verify(key: string): Promise<{ code: number; faults: Verified["faults"] }> {
  const { code, stdout } = await minisandbox(["store", "verify", "--json", key]);
  const [layer]: Verified[] = JSON.parse(stdout);
  return { code, faults: layer!.faults };
}

Deno.test("a whole layer is verified, whatever is in it", async () => {
  using temp = tempDir();
  const { key } = await importLayer(temp.path);
  assertEquals(await verify(key), { code: 0, faults: [] });
});

Deno.test("one flipped bit is found and named, though size and time are as before", async () => {
  using temp = tempDir();
  const { key, tree } = await importLayer(temp.path);
  const { atime, mtime } = Deno.statSync(`${tree}/d/file`);
  const bytes = Deno.readFileSync(`${tree}/d/file`);
  bytes[3]! ^= 1;
  Deno.writeFileSync(`${tree}/d/file`, bytes);
  Deno.utimeSync(`${tree}/d/file`, atime!, mtime!);
  const { code, stdout } = await minisandbox(["store", "verify", key]);
  assertEquals(code, 1);
  assertEquals(stdout.split("\n").slice(1), [
    '     "d/file": its content has changed',
    `     remedy: minisandbox layer remove ${
      tree.split("/layers/")[1]!.slice(0, 12)
    }, then import ` +
    "its archive again",
    "",
  ]);
});

Deno.test("every other change is found and named", async () => {
  using temp = tempDir();
  const { key, tree } = await importLayer(temp.path);
  Deno.chmodSync(`${tree}/d/set`, 0o755);
  Deno.truncateSync(`${tree}/d/other`, 2);
  Deno.removeSync(`${tree}/implied/deep/file`);
  Deno.mkdirSync(`${tree}/implied/deep/file`);
  Deno.removeSync(`${tree}/d/symlink`);
  Deno.symlinkSync("elsewhere", `${tree}/d/symlink`);
  Deno.removeSync(`${tree}/d/link`);
  Deno.copyFileSync(`${tree}/d/file`, `${tree}/d/link`);
  Deno.removeSync(`${tree}/twice`);
  Deno.writeTextFileSync(`${tree}/stranger`, "");
  const { code, faults } = await verify(key);
  assertEquals(code, 1);
  assertEquals(
    faults.map(({ path, state }) => `${path}: ${state}`).sort(),
    [
      "d/link: it is no link to d/file any more",
      "d/other: it has 2 bytes, not 4",
      "d/set: its mode is 755, not 4755",
      "d/symlink: it leads elsewhere",
      "d: its time has changed",
      "implied/deep/file: it is of another type",
      "stranger: it was not in the archive",
      "twice: it is missing",
    ],
  );
});

Deno.test("a damaged list of files is a fault, and a key that is not there an error", async () => {
  using temp = tempDir();
  const { key, tree } = await importLayer(temp.path);
  const list = tree.replace("/tree/opt/x", "/entries.gz");
  Deno.writeFileSync(list, Deno.readFileSync(list).subarray(0, 40));
  assertEquals(await verify(key), {
    code: 1,
    faults: [{ path: ".", state: "the list of its files is damaged" }],
  });
  const { code, stderr } = await minisandbox(["store", "verify", "nothing"]);
  assertEquals([code, stderr], [
    125,
    'minisandbox: Cannot find layer "nothing": no such layer. See the keys by: minisandbox layer ' +
    "list.\n",
  ]);
});

Deno.test("an exported layer is the archive again: it imports to the same files", async () => {
  using temp = tempDir();
  const { key } = await importLayer(temp.path);
  const archive = `${temp.path}/exported.tar`;
  const exported = async () => {
    const args = ["layer", "export", key, "--level", "0", "-o", archive];
    const { code, stderr } = await minisandbox(args);
    assertEquals([code, stderr], [0, ""]);
    return createHash("sha256").update(Deno.readFileSync(archive)).digest("hex");
  };
  assertEquals(await exported(), await exported());
  const { stdout } = await minisandbox(
    ["layer", "import", "--quiet", "--json", "--at", "/opt/x", archive],
  );
  const [again] = JSON.parse(stdout).layers;
  const show = async (some: string) =>
    JSON.parse((await minisandbox(["layer", "show", "--json", some])).stdout);
  const first = await show(key);
  const second = await show(again.key);
  assertEquals([second.bytes, second.path], [first.bytes - "first".length, "/opt/x"]);
  assertEquals(await verify(again.key), { code: 0, faults: [] });
});

Deno.test({
  name: "a layer that was unpacked for other ids is not taken for a damaged one",
  ...onlyAs("root"),
  fn: async () => {
    using temp = tempDir();
    const store = ["--store", `${temp.path}/store`];
    const archive = `${temp.path}/x.tar`;
    Deno.writeFileSync(archive, tar(...MEMBERS));
    const run = ["run", "--userns", "off", "--quiet", ...store, "--layer", `${archive}:/opt/x`];
    assertEquals((await minisandbox([...run, "--", "true"])).code, 0);
    const look = async (...args: readonly string[]) => {
      const { code, stdout } = await minisandbox(["store", "verify", ...store, ...args]);
      return [code, stdout.slice(0, 4), stdout.split(" ")[1]!] as const;
    };
    const [code, verdict, key] = await look();
    assertEquals([code, verdict], [0, "SKIP"]);
    assertEquals(await look(key), [1, "SKIP", key]);
    assertEquals(await look("--userns", "off"), [0, "PASS", key]);
  },
});
