/** Tests that no call on files leaves a descriptor open in the server, whether it succeeds or not. */
import { assertEquals } from "@std/assert";
import { TestServer } from "../support/rpc_client.ts";
import { tempDir } from "../support/temp_dir.ts";

/** The files that a server has open, but for those of its store. */
function openFiles(server: TestServer): string[] {
  const dir = `/proc/${server.child.pid}/fd`;
  const files = [...Deno.readDirSync(dir)].map(({ name }) => {
    try {
      return Deno.readLinkSync(`${dir}/${name}`);
    } catch {
      return ""; // the one that was open for the list
    }
  });
  return files.filter((file) => /^\/(srv\b|proc\/\d)/.test(file)).sort();
}

const CALLS: readonly (readonly [method: string, params: Record<string, unknown>])[] = [
  ["stat", { path: "/srv/f" }],
  ["stat", { path: "/srv/link", follow: true }],
  ["stat", { path: "/srv/none" }],
  ["read", { path: "/srv/f" }],
  ["read", { path: "/srv/dir" }],
  ["read", { path: "/srv/fifo" }],
  ["read", { path: "/srv/f/below" }],
  ["write", { path: "/srv/g", data: "x" }],
  ["write", { path: "/srv/a/b/c", data: "x" }],
  ["write", { path: "/srv/link", data: "x", atomic: false }],
  ["write", { path: "/srv/f/below", data: "x" }],
  ["write", { path: "/srv/none/x", data: "x", makeParents: false }],
  ["write", { path: "/srv/loop", data: "x" }],
  ["write", { path: "/proc/self/comm", data: "x" }],
  ["list", { path: "/srv" }],
  ["list", { path: "/srv/f" }],
  ["makeDir", { path: "/srv/d/e", mode: 0o700 }],
  ["makeDir", { path: "/srv/f/x" }],
  ["remove", { path: "/srv/d", recursive: true }],
  ["remove", { path: "/srv/dir" }],
  ["remove", { path: "/srv/none/x" }],
  ["upload", { path: "/srv/u", hostPath: "TEMP/file" }],
  ["upload", { path: "/srv/t", hostPath: "TEMP/tree" }],
  ["upload", { path: "/srv/fifo", hostPath: "TEMP/file" }],
  ["download", { path: "/srv/f", hostPath: "TEMP/out" }],
  ["download", { path: "/srv/dir", hostPath: "TEMP/out-dir" }],
  ["download", { path: "/srv/dir", archive: "TEMP/out.tar" }],
  ["download", { path: "/srv/none", hostPath: "TEMP/out" }],
];

Deno.test("no call on files leaves a descriptor in the server", async () => {
  await using server = new TestServer();
  using temp = tempDir();
  Deno.writeTextFileSync(`${temp.path}/file`, "x");
  Deno.mkdirSync(`${temp.path}/tree`);
  const sandbox = await server.create();
  const script = "cd /srv; echo x >f; ln -s f link; ln -s loop loop; mkdir -p dir/x; mkfifo fifo";
  assertEquals((await server.run(sandbox, script)).stderr.text, "");
  for (const [method, params] of CALLS) {
    const text = JSON.stringify({ sandbox, ...params }).replace("TEMP", temp.path);
    await server.call(`file.${method}`, JSON.parse(text)).catch(() => {});
    assertEquals(openFiles(server), [], `${method} ${text}`);
  }

  await server.call("session.create", { sandbox });
  await server.call("sandbox.diff", { sandbox });
  assertEquals(openFiles(server), []);
});
