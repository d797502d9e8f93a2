/** Tests of the store on a real file system, with several processes at once. */
import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { delay } from "@std/async/delay";
import { fromFileUrl } from "@std/path/from-file-url";
import { ensureLayers, findLayers, type LayerEvent, unpackHere } from "../../src/app/layer.ts";
import { ArchiveError, HostError, NotFoundError, UsageError } from "../../src/errors.ts";
import { Store } from "../../src/store/mod.ts";
import { tar } from "../support/tar.ts";
import { tempDir } from "../support/temp_dir.ts";

const SWEEPER = fromFileUrl(new URL("../support/sweep_process.ts", import.meta.url));
const PROCESS = fromFileUrl(new URL("../support/store_process.ts", import.meta.url));
const options = { idmap: "test", unpack: unpackHere };

/** Makes a store and an archive, old enough that its digest is remembered. */
function prepare(
  dir: string,
): { store: Store; archive: string; wish: { archive: string; path: string } } {
  const archive = `${dir}/x.tar`;
  Deno.writeFileSync(archive, tar({ name: "a/b", body: "hello" }, { name: "c", body: "x" }));
  return { store: Store.open(`${dir}/store`), archive, wish: { archive, path: "/opt/x" } };
}

async function settle(): Promise<void> {
  const until = performance.now() + 30; // a file's times have a grain
  while (performance.now() < until) await new Promise((resolve) => setTimeout(resolve, 5));
}

const names = (dir: string) => [...Deno.readDirSync(dir)].map(({ name }) => name).sort();

async function assertClean(store: Store): Promise<void> {
  await store.settle();
  for (const dir of ["tmp", "runs", "locks", "unwritten"]) {
    assertEquals(names(`${store.dir}/${dir}`), []);
  }
}

Deno.test("a layer is unpacked once, at its path, and found without work afterwards", async () => {
  using temp = tempDir();
  const { store, archive, wish } = prepare(temp.path);
  await settle();
  const events: LayerEvent[] = [];
  const [first] = await ensureLayers(store, [wish], { ...options, onEvent: (e) => events.push(e) });
  assertEquals(Deno.readTextFileSync(`${first!.tree}/opt/x/a/b`), "hello");
  assertEquals(
    new Set(events.map(({ phase }) => phase)),
    new Set(["hash", "unpack", "ready"]),
  );
  const [again] = findLayers(store, [wish], { idmap: "test" })!;
  assertEquals(again!.key, first!.key);
  assertEquals(findLayers(store, [{ archive, path: "/opt/y" }], { idmap: "test" }), null);
  assertEquals(findLayers(store, [wish], { idmap: "other ids" }), null);
  for (const layer of [first!, again!]) layer[Symbol.dispose]();
  await assertClean(store);
});

Deno.test("finding a layer of an unchanged archive takes under a millisecond", async () => {
  using temp = tempDir();
  const { store, wish } = prepare(temp.path);
  await settle();
  for (const layer of await ensureLayers(store, [wish], options)) layer[Symbol.dispose]();
  const times = Array.from({ length: 200 }, () => {
    const start = performance.now();
    for (const layer of findLayers(store, [wish], { idmap: "test" })!) layer[Symbol.dispose]();
    return performance.now() - start;
  }).sort((a, b) => a - b);
  assert(times[100]! < 1, `median ${times[100]} ms`);
});

Deno.test("an archive that is changed is another layer, and one that is changed meanwhile none", async () => {
  using temp = tempDir();
  const { store, archive, wish } = prepare(temp.path);
  const [first] = await ensureLayers(store, [wish], options);
  Deno.writeFileSync(archive, tar({ name: "a/b", body: "HELLO" }, { name: "c", body: "x" }));
  const [second] = await ensureLayers(store, [wish], options);
  assert(first!.key !== second!.key);
  assertEquals(Deno.readTextFileSync(`${second!.tree}/opt/x/a/b`), "HELLO");
  for (const layer of [first!, second!]) layer[Symbol.dispose]();

  Deno.writeFileSync(archive, tar({ name: "d" }));
  const changing = ensureLayers(store, [wish], {
    ...options,
    unpack: async (job) => {
      const summary = await unpackHere(job);
      await settle();
      Deno.writeFileSync(archive, tar({ name: "e" }));
      return summary;
    },
  });
  assertStringIncludes((await assertRejects(() => changing, ArchiveError)).message, "it changed");
  assertEquals(store.catalog.list().length, 2);
  await assertClean(store);
});

Deno.test("bad archives and paths leave nothing in the store", async () => {
  using temp = tempDir();
  const { store, archive, wish } = prepare(temp.path);
  const refuse = async (
    error: new (message: string) => Error,
    path: string,
    file = archive,
  ) => {
    const ensured = ensureLayers(store, [{ archive: file, path }], options);
    assert(!(await assertRejects(() => ensured, error)).message.includes("\n"));
    assertEquals(store.catalog.list(), []);
    await assertClean(store);
  };
  const bad = `${temp.path}/bad.tar.gz`;
  for (
    const bytes of [new Uint8Array(0), new Uint8Array(700), new Uint8Array([0x1f, 0x8b, 8, 0])]
  ) {
    Deno.writeFileSync(bad, bytes.length === 700 ? bytes.fill(65) : bytes);
    await refuse(ArchiveError, "/x", bad);
  }
  await refuse(ArchiveError, "/x", temp.path);
  for (const path of ["/", "relative", "/a/../b", "/proc/x", "/tmp", "/a\0"]) {
    await refuse(UsageError, path);
  }
  await assertRejects(() => ensureLayers(store, [wish, wish], options), UsageError, "two layers");
  const missing = { ...wish, archive: `${temp.path}/none` };
  await assertRejects(() => ensureLayers(store, [missing], options), NotFoundError, "no such file");
});

Deno.test("a build that fails or is aborted leaves nothing", async () => {
  using temp = tempDir();
  const { store, wish } = prepare(temp.path);
  const failing = ensureLayers(store, [wish], {
    ...options,
    unpack: async (job) => {
      await unpackHere(job);
      Deno.chmodSync(`${job.at}/a`, 0);
      throw new HostError("Cannot unpack: the worker has ended");
    },
  });
  await assertRejects(() => failing, HostError, "the worker has ended");
  const stop = new AbortController();
  const aborted = ensureLayers(store, [wish], {
    ...options,
    signal: stop.signal,
    unpack: (job) => {
      stop.abort();
      return unpackHere(job);
    },
  });
  await assertRejects(() => aborted, DOMException);
  assertEquals(store.catalog.list(), []);
  await assertClean(store);
});

Deno.test("a layer in use cannot be removed, then it can, by the start of its key", async () => {
  using temp = tempDir();
  const { store, archive, wish } = prepare(temp.path);
  const [layer] = await ensureLayers(store, [wish], options);
  const [info] = store.catalog.list();
  assertEquals([info!.path, info!.entries, info!.bytes, info!.isInUse], ["/opt/x", 2, 6, true]);
  assertEquals(info!.archive.name, archive.split("/").at(-1));
  await assertRejects(() => store.catalog.remove(layer!.key), UsageError, "it is in use");
  layer![Symbol.dispose]();
  assertEquals(store.catalog.list()[0]!.isInUse, false);
  await assertRejects(() => store.catalog.remove("nothing"), NotFoundError);
  assertEquals(await store.catalog.remove(layer!.key.slice(0, 6)), layer!.key);
  assertEquals(store.catalog.list(), []);
  await assertClean(store);
});

Deno.test("sweep() removes what the dead left, whatever its modes, and nothing that is in use", async () => {
  using temp = tempDir();
  const { store } = prepare(temp.path);
  const living = await store.openRun(null);
  for (const parent of ["runs", "tmp"]) {
    const dead = `${store.dir}/${parent}/0123`;
    Deno.mkdirSync(`${dead}/work/work`, { recursive: true });
    Deno.writeTextFileSync(`${dead}/file`, "x");
    Deno.symlinkSync(temp.path, `${dead}/link`);
    Deno.chmodSync(`${dead}/work/work`, 0);
    Deno.utimeSync(dead, 1, 1);
  }
  Deno.writeTextFileSync(`${store.dir}/tmp/0123.lock`, "");
  assertEquals(await store.sweep(), 2);
  assertEquals(names(`${store.dir}/tmp`), []);
  assertEquals(names(`${store.dir}/runs`).length, 1);
  assert(Deno.statSync(living.dir).isDirectory);
  await living[Symbol.asyncDispose]();
  assertEquals(await store.sweep(), 0);
  await assertClean(store);
  assert(Deno.statSync(`${temp.path}/x.tar`).isFile);
});

Deno.test("a directory that has no lock yet is left alone, unless it is empty", async () => {
  using temp = tempDir();
  const { store } = prepare(temp.path);
  Deno.mkdirSync(`${store.dir}/runs/empty`);
  Deno.mkdirSync(`${store.dir}/runs/begun/upper`, { recursive: true });
  assertEquals(await store.sweep(), 1);
  assertEquals(names(`${store.dir}/runs`), ["begun"]);
  Deno.utimeSync(`${store.dir}/runs/begun`, 1, 1);
  assertEquals(await store.sweep(), 1);
  await assertClean(store);
});

Deno.test("what its owner removes, others leave to him until it is gone", async () => {
  using temp = tempDir();
  const { store } = prepare(temp.path);
  using other = Store.open(store.dir);
  for (let round = 0; round < 3; round++) {
    const run = await store.openRun(null);
    for (let i = 0; i < 40; i++) {
      Deno.mkdirSync(`${run.dir}/d${i}`);
      for (let j = 0; j < 40; j++) Deno.writeTextFileSync(`${run.dir}/d${i}/${j}`, "");
    }
    let isRemoved = false;
    const removal = run[Symbol.asyncDispose]().then(() => isRemoved = true);
    while (!isRemoved) {
      assertEquals(await other.sweep(), 0);
      await delay(0); // in which the removal goes on
    }
    await removal;
    assertEquals(names(`${store.dir}/runs`), []);
  }
});

Deno.test("a directory of the caller's keeps all that is his when a run is kept in it", async () => {
  using temp = tempDir();
  const { store } = prepare(temp.path);
  const parent = `${temp.path}/home`;
  const dead = "0123456789abcdef";
  for (const name of ["photos", "fedcba9876543210", `${dead}/work`]) {
    Deno.mkdirSync(`${parent}/${name}`, { recursive: true });
    Deno.writeTextFileSync(`${parent}/${name}/file`, "x");
  }
  for (const name of ["letter", "package.lock", "photos/lock", `${dead}/lock`]) {
    Deno.writeTextFileSync(`${parent}/${name}`, "x");
  }
  {
    await using run = await store.openRun(parent);
    assertEquals(run.dir.startsWith(`${parent}/`), true);
  }
  assertEquals(names(parent), ["fedcba9876543210", "letter", "package.lock", "photos"]);
  assertEquals(Deno.readTextFileSync(`${parent}/photos/file`), "x");
  await assertClean(store);
});

Deno.test("a directory that holds other files is no store, and stays as it is", () => {
  using temp = tempDir();
  for (const name of ["runs", "tmp"]) {
    const dir = `${temp.path}/${name}`;
    Deno.mkdirSync(`${dir}/${name}/precious`, { recursive: true });
    const { message } = assertThrows(() => Store.open(dir), UsageError);
    assertStringIncludes(message, `Cannot use "${dir}" as store: it holds other files. Give a new`);
    assertEquals(names(dir), [name]);
    assertEquals(names(`${dir}/${name}`), ["precious"]);
  }
});

Deno.test("a store whose making was interrupted is made whole", () => {
  using temp = tempDir();
  Deno.mkdirSync(`${temp.path}/store/layers`, { recursive: true });
  Deno.mkdirSync(`${temp.path}/store/tmp`);
  const { dir } = Store.open(`${temp.path}/store`);
  assertEquals(names(dir), [
    ...["bases", "digests", "environments", "layers", "locks", "runs", "skeletons", "snapshots"],
    ...["tmp", "unwritten"],
  ]);
  assertEquals(Deno.lstatSync(`${dir}/runs`).mode! & 0o777, 0o700);
});

Deno.test("eight processes that want one layer at once unpack it once", async () => {
  using temp = tempDir();
  const { store, archive } = prepare(temp.path);
  const started = Array.from({ length: 8 }, () => start(store.dir, archive));
  const ended = await Promise.all(started.map((child) => child.output()));
  const results = ended.map(({ success, stdout, stderr }) => {
    assert(success, new TextDecoder().decode(stderr));
    return JSON.parse(new TextDecoder().decode(stdout).trim().split("\n").at(-1)!);
  });
  assertEquals(results.reduce((sum, { unpacked }) => sum + unpacked, 0), 1);
  assertEquals(new Set(results.map(({ key }) => key)).size, 1);
  await assertClean(store);
});

Deno.test("a process that is killed while it unpacks leaves nothing after the next start", async () => {
  using temp = tempDir();
  const { store, archive } = prepare(temp.path);
  const members = Array.from({ length: 5000 }, (_, i) => ({ name: `d${i % 50}/f${i}`, body: "x" }));
  Deno.writeFileSync(archive, tar(...members));
  const child = start(store.dir, archive);
  const reader = child.stdout.getReader();
  await reader.read(); // it has begun
  child.kill("SIGKILL");
  while (!(await reader.read()).done);
  await child.stderr.cancel();
  await child.status;
  assertEquals(store.catalog.list(), []);
  await store.sweep();
  assertEquals(names(`${store.dir}/tmp`), []);
  const { success } = await start(store.dir, archive).output();
  assert(success);
  assertEquals(store.catalog.list()[0]!.entries, 5000);
  await assertClean(store);
});

Deno.test("a store that cannot be made is an error that names it and the remedy", () => {
  using temp = tempDir();
  Deno.writeTextFileSync(`${temp.path}/file`, "");
  const { message } = assertThrows(() => Store.open(`${temp.path}/file/store`), HostError);
  assertStringIncludes(message, `Cannot write to the store "${temp.path}/file/store": `);
  assertStringIncludes(message, "--store DIR");
});

function start(store: string, archive: string): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", PROCESS, store, archive, "/opt/x"],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

Deno.test("the directory of a run is made whoever sweeps at the same moment", async () => {
  using temp = tempDir();
  const dir = `${temp.path}/store`;
  const store = Store.open(dir);
  const sweepers = Array.from({ length: 2 }, () =>
    new Deno.Command(Deno.execPath(), {
      args: ["run", "--allow-all", "--no-check", SWEEPER, dir],
      stdout: "piped",
    }).spawn());
  for (const { stdout } of sweepers) {
    const reader = stdout.getReader();
    await reader.read(); // it has begun
    await reader.cancel();
  }
  for (let i = 0; i < 400; i++) {
    await using run = await store.openRun(null);
    assertEquals(Deno.statSync(run.dir).mode! & 0o7777, 0o700);
  }
  for (const sweeper of sweepers) {
    sweeper.kill("SIGKILL");
    await sweeper.status;
  }
  await store.sweep();
  assertEquals([...Deno.readDirSync(`${dir}/runs`)], []);
});
