/**
 * Tests that a server does not grow with what it moves. `MINISANDBOX_TEST_TRANSFER` says how many MB; a
 * night's run has 10240, and `TMPDIR` a place for them.
 */
import { assert, assertEquals } from "@std/assert";
import { delay } from "@std/async/delay";
import { randomFrom } from "../support/random.ts";
import { TestServer } from "../support/rpc_client.ts";
import { tempDir } from "../support/temp_dir.ts";
import { run } from "../support/worst_tree.ts";

const SIZE_MB = Number(Deno.env.get("MINISANDBOX_TEST_TRANSFER") ?? 300);
const SIZE = SIZE_MB * 2 ** 20;

/** What the garbage collector may leave, in MB. */
const SLACK_MB = 96;

/** How often the server is asked for its size. */
const LOOK_MS = 20;

/** Makes a file of holes, and of bytes by chance here and there. */
function makeSource(path: string): void {
  using file = Deno.openSync(path, { createNew: true, write: true });
  file.truncateSync(SIZE);
  const below = randomFrom(SIZE_MB);
  for (let part = 0; part < 64; part++) {
    file.seekSync(Math.floor(SIZE / 64) * part + below(4096), Deno.SeekMode.Start);
    file.writeSync(Uint8Array.from({ length: 5000 }, () => below(256)));
  }
}

async function residentMb(server: TestServer): Promise<number> {
  const { process } = await server.call<{ process: { residentBytes: number } }>("metrics");
  return process.residentBytes / 2 ** 20;
}

Deno.test(`${SIZE_MB} MB go in and out of a sandbox, and the server stays as small as it was`, async () => {
  await using server = new TestServer();
  using temp = tempDir();
  const source = `${temp.path}/source`;
  makeSource(source);
  const sum = async (path: string) => (await run("sha256sum", path)).slice(0, 64);
  const wanted = await sum(source);

  const upper = { kind: "tmpfs", sizeBytes: SIZE + 2 ** 26 };
  const sandbox = await server.create({ upper });
  const sumInside = async (path: string) =>
    (await server.run(sandbox, ["sha256sum", path])).stdout.text.slice(0, 64);
  const small = `${temp.path}/small`;
  Deno.writeFileSync(small, new Uint8Array(2 ** 22));
  await server.call("file.upload", { sandbox, path: "/srv/small", hostPath: small });
  await server.call("file.download", { sandbox, path: "/srv/small", hostPath: small });
  const before = await residentMb(server);

  /** Makes a call, and looks at the server's size until it has answered. */
  const move = async (method: string, params: object) => {
    const start = performance.now();
    let isMoving = true;
    const moved = server.call(method, { sandbox, ...params }).finally(() => isMoving = false);
    moved.catch(() => {}); // it is awaited when the server's size has been asked
    let [peak, samples] = [0, 0];
    do {
      peak = Math.max(peak, await residentMb(server));
      samples++;
      await delay(LOOK_MS);
    } while (isMoving);
    const answer = await moved;
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    console.log(
      `${method} ${Object.keys(params)}: ${seconds} s, from ${before.toFixed()} to at most ` +
        `${peak.toFixed()} MB, ${samples} samples`,
    );
    assert(peak - before < SLACK_MB, `from ${before} to ${peak} MB`);
    return answer;
  };

  await server.call("file.makeDir", { sandbox, path: "/srv/tree" });
  assertEquals(await move("file.upload", { path: "/srv/tree/f", hostPath: source }), {
    entries: 1,
    bytes: SIZE,
  });
  assertEquals(await sumInside("/srv/tree/f"), wanted);
  Deno.removeSync(source);

  const out = `${temp.path}/out`;
  await move("file.download", { path: "/srv/tree/f", hostPath: out });
  assertEquals(await sum(out), wanted);
  Deno.removeSync(out);

  const archive = `${temp.path}/tree.tar`;
  await move("file.download", { path: "/srv/tree", archive });
  await server.call("file.remove", { sandbox, path: "/srv/tree", recursive: true });
  await move("file.upload", { path: "/srv/tree", archive });
  assertEquals(await sumInside("/srv/tree/f"), wanted);
});
