/** Tests of what a store gives up, and what it must keep. */
import { assert, assertEquals } from "@std/assert";
import { ensureLayers, unpackHere } from "../../src/app/layer.ts";
import { Store } from "../../src/store/mod.ts";
import { collectGarbage, type GcWish, measureUsage } from "../../src/store/upkeep.ts";
import { tar } from "../support/tar.ts";
import { tempDir } from "../support/temp_dir.ts";

const DAY_MS = 86_400_000;
const NOTHING: GcWish = { maxBytes: null, olderThanMs: null, isDryRun: false };
const remove = (dir: string) => Deno.remove(dir, { recursive: true });

/** Makes layers /a, /b and so on, each of `bytes`, last used so many days ago. */
async function makeLayers(
  dir: string,
  ages: readonly number[],
  bytes = 10_000,
): Promise<{ readonly store: Store; readonly keys: string[] }> {
  const store = Store.open(`${dir}/store`);
  const keys: string[] = [];
  for (const [i, age] of ages.entries()) {
    const archive = `${dir}/${i}.tar`;
    Deno.writeFileSync(archive, tar({ name: "f", body: new Uint8Array(bytes).fill(i) }));
    const options = { idmap: "test", unpack: unpackHere };
    const [layer] = await ensureLayers(store, [{ archive, path: `/${"abcdef"[i]}` }], options);
    using held = layer!;
    keys.push(held.key);
    const time = new Date(Date.now() - age * DAY_MS);
    Deno.utimeSync(`${store.dir}/layers/${held.key}/lock`, time, time);
  }
  return { store, keys };
}

const paths = (store: Store) => store.catalog.list().map(({ path }) => path);

Deno.test("gc without a wish removes no layer", async () => {
  using temp = tempDir();
  const { store } = await makeLayers(temp.path, [100, 1]);
  await collectGarbage(store, NOTHING, remove);
  assertEquals(paths(store), ["/a", "/b"]);
});

Deno.test("gc to a size removes the layer that was unused longest, and no more than needed", async () => {
  using temp = tempDir();
  const { store, keys } = await makeLayers(temp.path, [3, 9, 6]);
  const wish = { ...NOTHING, maxBytes: 25_000 };
  const dry = await collectGarbage(store, { ...wish, isDryRun: true }, remove);
  assertEquals(paths(store), ["/a", "/b", "/c"]);
  const { removed, freedBytes, keptBytes } = await collectGarbage(store, wish, remove);
  assertEquals(removed.filter(({ kind }) => kind === "layer").map(({ name }) => name), [keys[1]]);
  assertEquals([freedBytes, keptBytes], [12_288, 2 * 12_288]);
  assertEquals([dry.freedBytes, dry.keptBytes], [freedBytes, keptBytes]);
  assertEquals(paths(store), ["/a", "/c"]);
});

Deno.test("gc by age removes what was not used for so long", async () => {
  using temp = tempDir();
  const { store } = await makeLayers(temp.path, [3, 40, 31]);
  await collectGarbage(store, { ...NOTHING, olderThanMs: 30 * DAY_MS }, remove);
  assertEquals(paths(store), ["/a"]);
});

Deno.test("gc keeps what is in use or needed by a name", async () => {
  using temp = tempDir();
  const { store, keys } = await makeLayers(temp.path, [90, 80, 70]);
  const archive = `${temp.path}/0.tar`;
  const used = store.findLayer({ archive, path: "/a", idmap: "test" }) ??
    store.holdLayer({
      sha256: store.catalog.find(keys[0]!).archive.sha256,
      path: "/a",
      idmap: "test",
    });
  await store.names.write("environment", "needs", { keys: [keys[1]!] });
  await collectGarbage(store, { ...NOTHING, maxBytes: 0, olderThanMs: 0 }, remove);
  assertEquals(paths(store), ["/a", "/b"]);
  used![Symbol.dispose]();
  store.names.remove("environment", "needs");
  await collectGarbage(store, { ...NOTHING, maxBytes: 0 }, remove);
  assertEquals(paths(store), []);
});

Deno.test("gc removes trees that nobody holds, digests without a layer, and locks of the dead", async () => {
  using temp = tempDir();
  const { store } = await makeLayers(temp.path, [1]);
  await store.ensureTree("kept", (dir) => Deno.writeTextFileSync(`${dir}/f`, "x"));
  using other = Store.open(store.dir);
  await other.ensureTree("idle", () => {});
  other[Symbol.dispose]();
  Deno.symlinkSync("0".repeat(64), `${store.dir}/digests/gone`);
  Deno.writeTextFileSync(`${store.dir}/locks/dead.lock`, "");
  const { removed } = await collectGarbage(store, { ...NOTHING, olderThanMs: -1 }, remove);
  const names = removed.map(({ kind, name }) => `${kind} ${name}`);
  for (const name of ["tree idle", "digest gone"]) assert(names.includes(name));
  assertEquals([...Deno.readDirSync(`${store.dir}/locks`)], []);
  assertEquals([...Deno.readDirSync(`${store.dir}/skeletons`)].map((it) => it.name), ["kept"]);
  store[Symbol.dispose]();
});

Deno.test("a tree that was removed is made again for who wants it", async () => {
  using temp = tempDir();
  const { store } = await makeLayers(temp.path, []);
  let made = 0;
  const ensure = () => store.ensureTree("tree", () => void made++);
  await ensure();
  store[Symbol.dispose]();
  await collectGarbage(store, { ...NOTHING, olderThanMs: -1 }, remove);
  await ensure();
  await ensure();
  assertEquals(made, 2);
  store[Symbol.dispose]();
});

Deno.test("usage counts layers by what needs them", async () => {
  using temp = tempDir();
  const { store, keys } = await makeLayers(temp.path, [1, 1, 1]);
  await store.names.write("base", "needs", { keys: [keys[1]!] });
  const { layers, unused, inUse, bases } = measureUsage(store);
  assertEquals(
    [layers.count, layers.bytes, unused.count, inUse.count, bases],
    [3, 3 * 12_288, 2, 0, 1],
  );
});
