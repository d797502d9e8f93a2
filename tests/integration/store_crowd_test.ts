/** Tests of one store under many processes, kills and a full disk, on the binary. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { assertNothingLeft, minisandbox, removeStore, start } from "../support/minisandbox.ts";
import { identity, onlyAs } from "../support/identity.ts";
import { tar } from "../support/tar.ts";
import { tempDir } from "../support/temp_dir.ts";

/** Two hundred once: other users differ in their ids, not in how they wait for each other. */
const PROCESSES = identity() === "root" ? 200 : 60;

/** What `layer import --json` prints. */
interface Imported {
  readonly layers: readonly {
    readonly key: string;
    readonly phases: Readonly<Record<string, number>>;
  }[];
}

function makeArchive(path: string, files: number, name: string): void {
  const body = `${name}\n`.repeat(50);
  const members = Array.from({ length: files }, (_, i) => ({ name: `d${i % 20}/f${i}`, body }));
  Deno.writeFileSync(path, tar(...members));
}

async function verify(store: string): Promise<void> {
  const { code, stdout } = await minisandbox(["store", "verify", "--store", store]);
  assertEquals([code, /FAIL/.test(stdout)], [0, false], stdout);
}

Deno.test(`${PROCESSES} processes that want eight layers at once unpack each of them once`, async () => {
  using temp = tempDir();
  const store = `${temp.path}/store`;
  const archives = Array.from({ length: 8 }, (_, i) => `${temp.path}/${i}.tar`);
  archives.forEach((path, i) => makeArchive(path, 200, `archive ${i}`));
  const children = Array.from({ length: PROCESSES }, (_, i) => {
    const wish = `${archives[i % archives.length]}:/opt/x`;
    return start(["layer", "import", "--quiet", "--json", "--store", store, wish]);
  });
  const outputs = await Promise.all(children.map(async (child) => {
    await child.stdin.close();
    return await child.output();
  }));
  const decoder = new TextDecoder();
  const unpacked = new Map<string, number>();
  for (const { code, stdout, stderr } of outputs) {
    assertEquals([code, decoder.decode(stderr)], [0, ""]);
    const { layers: [layer] }: Imported = JSON.parse(decoder.decode(stdout));
    const count = unpacked.get(layer!.key) ?? 0;
    unpacked.set(layer!.key, count + ("unpack" in layer!.phases ? 1 : 0));
  }
  assertEquals([...unpacked.values()], archives.map(() => 1));
  await verify(store);
  assertNothingLeft(store);
  await removeStore(store);
});

Deno.test("a kill at any moment of an import leaves a whole layer or none, and no litter", async () => {
  using temp = tempDir();
  const store = `${temp.path}/store`;
  const archive = `${temp.path}/x.tar`;
  makeArchive(archive, 3000, "killed");
  const args = ["layer", "import", "--quiet", "--store", store, `${archive}:/opt/x`];
  for (let round = 0; round < 12; round++) {
    const child = start(args);
    const killer = setTimeout(() => child.kill("SIGKILL"), 15 + 25 * round);
    await child.stdin.close().catch(() => {});
    await child.output();
    clearTimeout(killer);
    const { stdout } = await minisandbox(["layer", "list", "--json", "--store", store]);
    for (const { key, entries } of JSON.parse(stdout)) {
      assertEquals(entries, 3000);
      await verify(store);
      await minisandbox(["layer", "remove", "--store", store, key]);
    }
  }
  const { code, stderr } = await minisandbox(args);
  assertEquals([code, stderr], [0, ""]);
  await verify(store);
  assertNothingLeft(store);
  await removeStore(store);
});

Deno.test({
  name: "a full disk is an error with its remedy, leaves nothing, and is over when there is space",
  ...onlyAs("root"),
  fn: async () => {
    using temp = tempDir();
    const store = `${temp.path}/store`;
    const big = `${temp.path}/big.tar`;
    const small = `${temp.path}/small.tar`;
    Deno.writeFileSync(big, tar({ name: "f", body: new Uint8Array(8 << 20) }));
    makeArchive(small, 5, "small");
    Deno.mkdirSync(store);
    await mount(["-t", "tmpfs", "-o", "size=7m", "tmpfs", store]);
    try {
      const full = await minisandbox(["layer", "import", "--store", store, `${big}:/opt/x`]);
      assertEquals(full.code, 125);
      assertMatch(full.stderr, /Cannot unpack .* ENOSPC .*Free some space, or use another store/);
      assertEquals([...Deno.readDirSync(`${store}/layers`)], []);
      assertNothingLeft(store);
      const fits = await minisandbox(["layer", "import", "--store", store, `${small}:/opt/x`]);
      assertEquals(fits.code, 0, fits.stderr);
      assert(fits.stdout.includes("/opt/x"));
      await verify(store);
      assertNothingLeft(store);
    } finally {
      await new Deno.Command("umount", { args: [store] }).output();
    }
  },
});

async function mount(args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command("mount", { args }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
}
