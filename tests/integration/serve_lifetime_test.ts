/** Tests of how long sandboxes of a server live, who owns them, and what is left: nothing. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { connectTo } from "../../src/session/mod.ts";
import { Client } from "../../src/rpc/mod.ts";
import { adoptOrphans, awaitNoDescendants } from "../support/descendants.ts";
import { assertNothingLeft, minisandbox, sharedStore, start } from "../support/minisandbox.ts";
import { answerError, TestServer } from "../support/rpc_client.ts";
import { tempDir } from "../support/temp_dir.ts";
import { tar } from "../support/tar.ts";

const DEADLINE_MS = 20_000;

/** An archive of so many small files. */
function makeArchive(dir: string, count: number): string {
  const path = `${dir}/x.tar`;
  const files = Array.from({ length: count }, (_, i) => ({ name: `f${i}`, body: `${i}` }));
  Deno.writeFileSync(path, tar({ name: "./", type: "5", mode: 0o755 }, ...files));
  return path;
}

/** A client of a server's socket; it is disposed of by going away. */
function clientOf(path: string): Client & Disposable {
  const { input, output } = connectTo(path);
  const client = new Client({ input, output });
  return Object.assign(client, {
    [Symbol.dispose]: () => {
      input.close();
      output.close();
    },
  });
}

/** A server on a socket, once it listens. */
async function listening(
  ...args: readonly string[]
): Promise<TestServer & { readonly path: string } & AsyncDisposable> {
  const dir = tempDir();
  const path = `${dir.path}/s`;
  const server = new TestServer("--socket", path, "--stdio", ...args);
  await server.call("initialize");
  return Object.assign(server, {
    path,
    [Symbol.asyncDispose]: async () => {
      await server.end();
      dir[Symbol.dispose]();
    },
  });
}

Deno.test("a key gives the same sandbox, also to calls at the same time; labels select", async () => {
  await using server = new TestServer();
  const wish = { key: "task-1", labels: { task: "1", kind: "x" } };
  const made = await Promise.all(
    [1, 2, 3].map(() => server.call<{ sandbox: string; isNew: boolean }>("sandbox.create", wish)),
  );
  assertEquals(new Set(made.map(({ sandbox }) => sandbox)).size, 1);
  assertEquals(made.filter(({ isNew }) => isNew).length, 1);
  await server.create({ labels: { task: "2", kind: "x" } });
  const count = async (labels: object) =>
    (await server.call<{ sandboxes: unknown[] }>("sandbox.list", { labels })).sandboxes.length;
  assertEquals([await count({}), await count({ kind: "x" }), await count({ task: "2" })], [
    2,
    2,
    1,
  ]);

  const { sandbox } = made[0]!;
  assertEquals(await server.call("sandbox.close", { sandbox }), { closed: true });
  assertEquals(await server.call("sandbox.close", { sandbox }), { closed: false });
  const again = await server.call<{ sandbox: string; isNew: boolean }>("sandbox.create", wish);
  assert(again.isNew && again.sandbox !== sandbox);
});

Deno.test("a closed sandbox is gone, one that never was is not found", async () => {
  await using server = new TestServer();
  const sandbox = await server.create();
  const running = server.run(sandbox, "sleep 1000");
  running.catch(() => {});
  await server.call("sandbox.close", { sandbox });
  assertEquals((await answerError(running)).data.kind, "gone");
  const late = await answerError(server.run(sandbox, ["true"]));
  assertEquals([late.code, late.data.kind], [-32006, "gone"]);
  assertMatch(late.message, /it was closed/);
  const never = await answerError(server.run("sb-0-0", ["true"]));
  assertEquals([never.code, never.data.kind], [-32005, "notFound"]);
  assertEquals(await server.call("sandbox.close", { sandbox: "sb-0-0" }), { closed: false });
});

Deno.test("a lifetime and an idle time end a sandbox, work keeps it from being idle", async () => {
  await using server = new TestServer("--ttl", "1h");
  const brief = await server.create({ ttlMs: 100 });
  const idle = await server.create({ idleMs: 300 });
  const busy = await server.create({ idleMs: 300 });
  const { process } = await server.call<{ process: string }>("process.start", {
    sandbox: busy,
    command: "sleep 2",
  });
  const ended = async (sandbox: string) => {
    for (;;) {
      const { sandboxes } = await server.call<{ sandboxes: { sandbox: string }[] }>("sandbox.list");
      if (!sandboxes.some((it) => it.sandbox === sandbox)) return;
    }
  };
  await ended(brief);
  await ended(idle);
  assertMatch((await answerError(server.run(brief, ["true"]))).message, /lifetime/);
  assertMatch((await answerError(server.run(idle, ["true"]))).message, /idleMs/);
  const { ended: end } = await server.call<{ ended: unknown }>("process.wait", { process });
  assert(end !== null);
  await ended(busy);
});

Deno.test("clients of a socket are served apart; a sandbox ends with its own, unless detached", async () => {
  await using server = await listening();
  assertEquals(Deno.statSync(server.path).mode! & 0o777, 0o600);
  using watcher = clientOf(server.path);
  let own: string;
  let kept: string;
  {
    using maker = clientOf(server.path);
    const make = async (params: object) =>
      (await maker.call<{ sandbox: string }>("sandbox.create", params)).sandbox;
    own = await make({});
    kept = await make({ detached: true });
    void maker.call("process.run", { sandbox: own, command: "sleep 1000" }).catch(() => {});
    const { sandboxes } = await watcher.call<{ sandboxes: unknown[] }>("sandbox.list", {});
    assertEquals(sandboxes.length, 2);
  }
  for (;;) {
    const { sandboxes } = await watcher.call<{ sandboxes: { sandbox: string }[] }>(
      "sandbox.list",
      {},
    );
    if (sandboxes.length === 1) break;
  }
  const gone = await answerError(watcher.call("sandbox.info", { sandbox: own }));
  assertMatch(gone.message, /the connection that made it has ended/);
  const ran = await watcher.call<{ stdout: { text: string } }>("process.run", {
    sandbox: kept,
    command: "echo still here",
  });
  assertEquals(ran.stdout.text, "still here\n");
});

Deno.test("more sandboxes than may be are refused as busy, and so are too many that wait", async () => {
  await using server = new TestServer("--max-sandboxes", "2", "--start-jobs", "1");
  const first = await server.create();
  await server.create();
  const busy = await answerError(server.create());
  assertEquals([busy.code, busy.data.kind], [-32007, "busy"]);
  assertMatch(String(busy.data["remedy"]), /--max-sandboxes/);
  await server.call("sandbox.close", { sandbox: first });
  await server.create();

  await using narrow = new TestServer("--start-jobs", "1", "--queue", "1");
  using temp = tempDir();
  const layers = [{ archive: makeArchive(temp.path, 2000), path: "/opt/z" }]; // it takes a while
  const results = await Promise.allSettled([1, 2, 3, 4].map(() => narrow.create({ layers })));
  const refused = results.filter(({ status }) => status === "rejected");
  assertEquals(refused.length, 2);
  for (const { reason } of refused as PromiseRejectedResult[]) {
    assertEquals((await answerError(Promise.reject(reason))).data.kind, "busy");
  }
});

Deno.test("a sandbox that is not ready in time is given up, and nothing is left", async () => {
  await using server = new TestServer();
  using temp = tempDir();
  const archive = makeArchive(temp.path, 3000);
  const late = await answerError(
    server.create({ layers: [{ archive, path: "/opt/x" }], startTimeoutMs: 1 }),
  );
  assertEquals(late.data.kind, "busy");
  const sandbox = await server.create({ layers: [{ archive, path: "/opt/x" }] });
  assertEquals((await server.run(sandbox, "ls /opt/x | wc -l")).stdout.text, "3000\n");
});

Deno.test("progress is told while a layer is unpacked", async () => {
  await using server = new TestServer();
  using temp = tempDir();
  const archive = makeArchive(temp.path, 10);
  await server.create({ layers: [{ archive, path: "/opt/y" }], progressToken: "t" });
  const told = server.notified.filter(({ method }) => method === "$/progress");
  assert(told.length > 0);
  assertEquals(told[0]!.params["token"], "t");
  const phases = told.map(({ params }) => (params["value"] as { phase: string }).phase);
  assert(phases.includes("unpack") && phases.at(-1) === "ready", phases.join());
});

adoptOrphans();

for (const how of ["stdin ends", "SIGTERM", "SIGKILL", "shutdown"] as const) {
  Deno.test(`when ${how}, every sandbox ends with the server`, async () => {
    const server = new TestServer();
    for (let i = 0; i < 3; i++) {
      const sandbox = await server.create({ detached: i === 0 });
      await server.call("process.start", { sandbox, command: "setsid sleep 1000 & sleep 1000" });
    }
    if (how === "stdin ends") assertEquals(await server.end(), 0);
    else if (how === "shutdown") {
      await server.call("shutdown");
      assertEquals(await server.end(), 0);
    } else {
      server.child.kill(how);
      assertEquals(await server.end(), how === "SIGTERM" ? 0 : 137);
    }
    await awaitNoDescendants(DEADLINE_MS);
    if (how === "SIGKILL") await minisandbox(["run", "--quiet", "--", "true"]);
    assertNothingLeft(sharedStore());
  });
}

Deno.test("SIGTERM lets calls end, a second one does not", async () => {
  const patient = new TestServer("--drain", "60s");
  const sandbox = await patient.create();
  const ran = patient.run(sandbox, "touch /tmp/on; sleep 1; echo done");
  await patient.run(sandbox, "until [ -e /tmp/on ]; do :; done");
  patient.child.kill("SIGTERM");
  assertEquals((await ran).stdout.text, "done\n");
  assertEquals(await patient.end(), 0);

  const hasty = new TestServer("--drain", "60s");
  const other = await hasty.create();
  const lost = hasty.run(other, "touch /tmp/on; sleep 1000");
  lost.catch(() => {});
  await hasty.run(other, "until [ -e /tmp/on ]; do :; done");
  hasty.child.kill("SIGTERM");
  await hasty.untilLogged(/ draining/); // two at once may be one
  hasty.child.kill("SIGTERM");
  assertEquals((await answerError(lost)).data.kind, "gone");
  assertEquals(await hasty.end(), 0);
});

Deno.test("a socket of a server that lives is not taken, one of a dead server is", async () => {
  const dir = tempDir();
  using _dir = dir;
  const path = `${dir.path}/s`;
  const first = new TestServer("--socket", path, "--stdio");
  await first.call("initialize");
  const refused = await minisandbox(["serve", "--socket", path]);
  assertEquals(refused.code, 125);
  assertMatch(refused.stderr, /Cannot listen at .*: a server listens there already/);
  first.child.kill("SIGKILL");
  await first.end();
  assert(Deno.statSync(path).isSocket);
  const second = new TestServer("--socket", path, "--stdio");
  await second.call("initialize");
  assertEquals(await second.end(), 0);
  let isThere = true;
  try {
    Deno.statSync(path);
  } catch {
    isThere = false;
  }
  assertEquals(isThere, false);
});

Deno.test("metrics tell what was done, as JSON and for Prometheus", async () => {
  await using server = await listening("--metrics", "0");
  const sandbox = await server.create();
  await server.run(sandbox, ["true"]);
  await server.run(sandbox, ["false"]);
  await answerError(server.create({ layers: [{ archive: "/nowhere.tar.gz", path: "/x" }] }));
  const state = await server.call<Record<string, Record<string, unknown>>>("metrics");
  assertEquals(state["sandboxes"]!["live"], 1);
  assertEquals(state["sandboxes"]!["failed"], { notFound: 1 });
  assertEquals(state["commands"], { exited: 2 });
  assertEquals((state["startMs"]!["total"] as { count: number }).count, 1);

  const [, url = ""] = /"(http:.*)"/.exec(await server.untilLogged(/ metrics url=/)) ?? [];
  const page = await (await fetch(url)).text();
  assertMatch(page, /^minisandbox_sandboxes{state="live"} 1$/m);
  assertMatch(page, /^minisandbox_commands_total{outcome="exited"} 2$/m);
  assertMatch(page, /^minisandbox_start_seconds_count{phase="total"} 1$/m);
  assertMatch(page, /^# TYPE minisandbox_start_seconds histogram$/m);
});

Deno.test("garbage, duplicate ids and unknown methods are errors, and nothing else is disturbed", async () => {
  await using server = new TestServer();
  const sandbox = await server.create();
  await server.send('garbage\n{"jsonrpc":"2.0","id":1}\n[]\n\n{"jsonrpc":"2.0","method":"nope"}\n');
  await server.send(new Uint8Array([0xff, 0xfe, 0x0a, 0x00, 0x0a]));
  await server.send('{"jsonrpc":"2.0","id":"d","method":"process.run","params":[]}\n');
  const unknown = await answerError(server.call("sandbox.crate"));
  assertEquals([unknown.code, unknown.data["remedy"]], [
    -32601,
    "Did you mean sandbox.create? See serve --schema.",
  ]);
  const wrong = await answerError(
    server.call("process.run", { sandbox, command: "x", timeuotMs: 3 }),
  );
  assertEquals(wrong.message, 'Cannot read the params: no field is called "timeuotMs"');
  assertEquals((await server.run(sandbox, "echo fine")).stdout.text, "fine\n");
});

Deno.test("a server whose program has been replaced says so where it needs it, and goes on", async () => {
  using temp = tempDir();
  const script = 'cp "$0" "$COPY" && exec "$COPY" "$@"';
  const copy = `${temp.path}/minisandbox`;
  const env = { COPY: copy, MINISANDBOX_STORE: `${temp.path}/store` };
  const child = start(["serve"], { under: ["bash", "-c", script], env });
  const writer = child.stdin.getWriter();
  const client = new Client({
    input: child.stdout,
    output: { write: (bytes) => writer.write(bytes).then(() => true, () => false) },
  });
  const { sandbox } = await client.call("sandbox.create", {}) as { sandbox: string };
  Deno.removeSync(copy);
  Deno.writeTextFileSync(copy, "another version");
  const layers = [{ archive: makeArchive(temp.path, 3), path: "/opt/x" }];
  const { message, data } = await answerError(client.call("sandbox.create", { layers }));
  assertMatch(message, /^Cannot start a worker: ".*\/minisandbox" has been replaced or removed/);
  assertMatch(String(data["remedy"]), /Start the server anew/);
  const run = { sandbox, command: ["echo", "hi"] };
  const answer = await client.call("process.run", run) as { stdout: { text: string } };
  assertEquals(answer.stdout.text, "hi\n");
  await writer.close();
  assertEquals((await child.status).code, 0);
  await child.stderr.cancel();
});
