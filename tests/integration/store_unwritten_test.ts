/** Tests of layers that are used while the disk takes them, and of what a sudden end leaves of them. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { ensureLayers, type LayerEvent, unpackHere } from "../../src/app/layer.ts";
import { Store } from "../../src/store/mod.ts";
import { Unwritten } from "../../src/store/unwritten.ts";
import { tar } from "../support/tar.ts";
import { tempDir } from "../support/temp_dir.ts";

const options = { idmap: "test", unpack: unpackHere };
const BOOT = Deno.readTextFileSync("/proc/sys/kernel/random/boot_id").trim();

const names = (dir: string) => [...Deno.readDirSync(dir)].map(({ name }) => name).sort();

function open(
  temp: { readonly path: string },
): { store: Store; wish: { archive: string; path: string } } {
  const archive = `${temp.path}/x.tar`;
  Deno.writeFileSync(archive, tar({ name: "a", body: "hello" }));
  return { store: Store.open(`${temp.path}/store`), wish: { archive, path: "/opt/x" } };
}

/** Makes a layer that the disk has, and gives its key. */
async function make({ store, wish }: ReturnType<typeof open>): Promise<string> {
  const [layer] = await ensureLayers(store, [wish], options);
  await store.settle();
  layer![Symbol.dispose]();
  return layer!.key;
}

const isThere = (store: Store, key: string) => names(`${store.dir}/layers`).includes(key);

Deno.test("a layer is marked before it is there, until the disk has it", async () => {
  using temp = tempDir();
  const { store, wish } = open(temp);
  const seen: string[][] = [];
  const [layer] = await ensureLayers(store, [wish], {
    ...options,
    unpack: async (job) => {
      const marks = names(`${store.dir}/unwritten`);
      seen.push([...marks, Deno.readTextFileSync(`${store.dir}/unwritten/${marks[0]}`)]);
      seen.push(names(`${store.dir}/layers`));
      return await unpackHere(job);
    },
  });
  using held = layer!;
  assertEquals(seen, [[held.key, BOOT], []]);
  assertEquals(Deno.readTextFileSync(`${held.tree}/opt/x/a`), "hello");
  await store.settle(held);
  assertEquals(names(`${store.dir}/unwritten`), []);
});

Deno.test("what is imported is on the disk, even if it was made for a sandbox", async () => {
  using temp = tempDir();
  const { store, wish } = open(temp);
  const key = await make({ store, wish });
  Deno.writeTextFileSync(`${store.dir}/unwritten/${key}`, BOOT); // as of another process
  for (const path of [wish.path, "/opt/y"]) {
    const events: LayerEvent[] = [];
    const [layer] = await ensureLayers(store, [{ ...wish, path }], {
      ...options,
      use: "import",
      onEvent: (event) => events.push(event),
    });
    layer![Symbol.dispose]();
    assertEquals(names(`${store.dir}/unwritten`), []);
    assert(events.some(({ phase }) => phase === "sync"));
  }
});

Deno.test("what another boot left unwritten is made again", async () => {
  using temp = tempDir();
  const { store, wish } = open(temp);
  for (const mark of ["0c8d4a9e-another-boot", ""]) {
    const key = await make({ store, wish });
    Deno.writeTextFileSync(`${store.dir}/unwritten/${key}`, mark);
    Deno.writeTextFileSync(`${store.dir}/layers/${key}/tree/opt/x/a`, "");
    assertEquals(await Store.open(store.dir).sweep(), 1);
    assertEquals(["layers", "unwritten", "tmp"].map((dir) => names(`${store.dir}/${dir}`)), [
      ...[[], [], []],
    ]);
    assertEquals(await make({ store, wish }), key);
    assertEquals(Deno.readTextFileSync(`${store.dir}/layers/${key}/tree/opt/x/a`), "hello");
  }
});

Deno.test("what a dead process of this boot left is written out, what a living one makes is its own", async () => {
  using temp = tempDir();
  const { store, wish } = open(temp);
  const key = await make({ store, wish });
  Deno.writeTextFileSync(`${store.dir}/unwritten/${key}`, BOOT);
  assertEquals(await store.sweep(), 0);
  await store.settle();
  assertEquals(names(`${store.dir}/unwritten`), []);
  assert(isThere(store, key));

  using _mark = await new Unwritten(store.dir).mark(key);
  assertEquals([await store.sweep(), isThere(store, key)], [0, true]);
});

Deno.test("a layer that another node uses stays marked, and who removes a damaged one is waited for", async () => {
  using temp = tempDir();
  const { store, wish } = open(temp);
  const key = await make({ store, wish });
  const path = `${store.dir}/unwritten/${key}`;
  Deno.writeTextFileSync(path, "of another node");
  {
    const [layer] = await ensureLayers(store, [wish], options);
    using _held = layer!;
    assertEquals([await store.sweep(), isThere(store, key)], [0, true]);
    assertEquals(Deno.readTextFileSync(path), "of another node");
  }
  const stores = Array.from({ length: 8 }, () => Store.open(store.dir));
  const removed = await Promise.all(stores.map((it) => it.sweep()));
  assertEquals(removed.toSorted(), [0, 0, 0, 0, 0, 0, 0, 1]);
  assertEquals([isThere(store, key), names(`${store.dir}/unwritten`)], [false, []]);
});

Deno.test("a layer that the disk does not take is gone, and whoever waits is told", async () => {
  using temp = tempDir();
  const { store, wish } = open(temp);
  const key = await make({ store, wish });
  const full = new Unwritten(store.dir, undefined, () => Promise.reject(new Error("No space")));
  full.begin(key, await full.mark(key));
  await assertRejects(() => full.settle(key), Error, "No space");
  await assertRejects(() => full.settleAll(), Error, "No space");
  assertEquals(["layers", "unwritten", "tmp"].map((dir) => names(`${store.dir}/${dir}`)), [
    ...[[], [], []],
  ]);
  assertEquals(await make({ store, wish }), key);
});
