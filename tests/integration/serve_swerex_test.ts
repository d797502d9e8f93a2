/** Tests of `serve --swerex`: its keys, its paths, and what is asked outside of sessions. */
import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { minisandbox, refusal, sharedStore, start } from "../support/minisandbox.ts";
import { requires } from "../support/requirement.ts";
import { KEY, SwerexServer } from "../support/swerex_client.ts";
import { readUntil } from "../support/read_until.ts";
import { tempDir } from "../support/temp_dir.ts";
import { run } from "../support/worst_tree.ts";

const ENDPOINTS = [
  ...["", "is_alive", "create_session", "run_in_session", "close_session", "execute"],
  ...["read_file", "write_file", "upload", "close"],
];

async function importEnvironment(name: string): Promise<void> {
  using temp = tempDir();
  const manifest = `${temp.path}/environment.json`;
  Deno.writeTextFileSync(manifest, JSON.stringify({ layers: [], env: { X: name } }));
  const args = ["environment", "import", "--quiet", "--store", sharedStore(), manifest, name];
  const { code, stderr } = await minisandbox(args);
  assertEquals([code, stderr], [0, ""]);
}

Deno.test("whoever shows no key, or another, is told nothing", async () => {
  await using server = new SwerexServer();
  for (const endpoint of ENDPOINTS) {
    const none = await server.fetch(`/sb-1-1/${endpoint}`, {
      headers: { "x-api-key": "" },
      method: "POST",
      body: "{}",
    });
    assertEquals(none, { status: 401, body: { detail: "Invalid API Key" } });
  }
  const wrong = await server.fetch("/is_alive", { headers: { "x-api-key": `${KEY}x` } });
  assertEquals(wrong, { status: 401, body: { detail: "Invalid API Key" } });
  const right = await server.fetch("/");
  assertEquals(right, { status: 200, body: { message: "hello world" } });
});

Deno.test("without a key one is made and told; from the variable it is not", async () => {
  for (const variable of [undefined, "from-the-variable"]) {
    const env = variable === undefined ? {} : { MINISANDBOX_SWEREX_KEY: variable };
    await using child = start(["serve", "--swerex", "0"], { env });
    const reader = child.stderr.getReader();
    const log = await readUntil(reader, " serving ");
    const [, url] = /url="([^"]+)"/.exec(log)!;
    const key = /key="([^"]+)"/.exec(log)?.[1];
    assertEquals(key === undefined, variable !== undefined);
    if (key !== undefined) assertEquals(key.length, 32);
    const response = await fetch(url!, { headers: { "x-api-key": key ?? variable! } });
    assertEquals(await response.json(), { message: "hello world" });
    const open = await fetch(`${url}/is_alive`);
    assertEquals([open.status, await open.json()], [403, { detail: "Not authenticated" }]);
    child.kill("SIGTERM");
    while (!(await reader.read()).done) { /* until it has ended */ }
    await Promise.all([child.stdin.close(), child.stdout.cancel()]);
    assertEquals((await child.status).code, 0);
  }
});

Deno.test("options that cannot be are refused", async () => {
  const refuse = async (...args: string[]) => refusal(await minisandbox(["serve", ...args]));
  assertEquals(await refuse("--swerex", "0", "--log", "none"), [
    125,
    "Cannot serve SWE-ReX: there is no key, and nowhere to tell a new one. Give " +
    "--swerex-key-file or MINISANDBOX_SWEREX_KEY, or another --log.",
  ]);
  assertEquals(
    (await refuse("--swerex-root", "k/x"))[1],
    [
      "Cannot use --swerex-root: there is no --swerex",
    ].join(),
  );
  assertMatch((await refuse("--swerex", "0", "--swerex-root", "x"))[1], /names no sandbox/);
  assertMatch((await refuse("--swerex", "0", "--swerex-compat", "x"))[1], /no such oddity/);
  assertMatch((await refuse("--swerex", "x"))[1], /^Cannot read the address "x"/);
  assertMatch((await refuse("--swerex", "0", "--swerex-key-file", "/"))[1], /key file "\/"/);
  assertMatch(
    (await refuse("--swerex", "0", "--swerex-key-file", "/dev/null"))[1],
    /Cannot use the key in "\/dev\/null": it is empty/,
  );
});

Deno.test("an environment's sandbox is made on first use, and ends with close", async () => {
  await importEnvironment("made");
  await using server = new SwerexServer();
  const path = "/e/made/one";
  const echo = { command: "echo $X; echo $$ >> /tmp/pids; wc -l < /tmp/pids", shell: true };
  // At the same time, so that what they count may be each other's already.
  await Promise.all([server.ok(`${path}/execute`, echo), server.ok(`${path}/execute`, echo)]);
  assertEquals((await server.ok(`${path}/execute`, echo)).stdout, "made\n3\n");
  const list = await server.rpc.call<{ sandboxes: { key: string }[] }>("sandbox.list");
  assertEquals(list.sandboxes.map(({ key }) => key), ["e/made/one"]);
  assertEquals((await server.ok("/e/made/two/execute", echo)).stdout, "made\n1\n");
  assertEquals((await server.fetch(`${path}/is_alive`)).body, { is_alive: true, message: "" });

  assertEquals(await server.ok(`${path}/close`, null), {});
  assertEquals((await server.ok(`${path}/execute`, echo)).stdout, "made\n1\n");
  const unknown = await server.post("/e/nobody/one/execute", echo);
  assertEquals(unknown.status, 404);
  assertMatch(unknown.body.detail, /"nobody"/);
});

Deno.test("is_alive makes the sandbox, and says when it is there", async () => {
  await importEnvironment("alive");
  await using server = new SwerexServer();
  let alive = false;
  while (!alive) {
    const { status, body } = await server.fetch("/e/alive/x/is_alive");
    assertEquals(status, 200);
    alive = body.is_alive;
  }
  const { status, body } = await server.fetch("/e/nobody/x/is_alive");
  assertEquals(status, 404);
  assertMatch(body.detail, /"nobody"/);
});

Deno.test("a sandbox made by sandbox.create is found by its id and its key, and outlives close", async () => {
  await using server = new SwerexServer("--swerex-root", "k/mine");
  assertEquals((await server.post("/k/mine/close", null)).status, 404);
  const id = await server.rpc.create({ key: "mine" });
  await server.ok(`/${id}/write_file`, { path: "/tmp/x", content: "1" });
  for (const path of [`/${id}`, "/k/mine", ""]) {
    assertEquals(await server.ok(`${path}/read_file`, { path: "/tmp/x" }), { content: "1" });
    await server.ok(`${path}/create_session`, { session_type: "bash" });
    assertEquals(await server.ok(`${path}/close`, null), {});
  }
  await server.rpc.call("sandbox.close", { sandbox: id });
  const gone = await server.fetch(`/${id}/is_alive`);
  assertEquals(gone.status, 404);
  assertMatch(gone.body.detail, /it was closed/);
});

Deno.test("what is no request is refused as FastAPI refuses it", async () => {
  await using server = new SwerexServer();
  const id = await server.rpc.create();
  const status = async (path: string, init: RequestInit) =>
    (await server.fetch(`/${id}/${path}`, init)).status;
  assertEquals(await status("execute", { method: "GET" }), 405);
  assertEquals(await status("", { method: "POST", body: "{}" }), 405);
  assertEquals(await status("nothing", { method: "GET" }), 404);
  assertEquals(await status("__proto__", { method: "GET" }), 404);
  assertEquals(await status("k/%zz", { method: "GET" }), 404);
  assertEquals((await server.fetch("/%zz/is_alive")).status, 404);
  assertEquals(await status("execute", { method: "POST", body: "{" }), 422);
  assertEquals(await status("upload", { method: "POST", body: "{}" }), 422);
  const missing = await server.post(`/${id}/run_in_session`, { command: "true" });
  assertEquals(missing.status, 422);
  assertEquals(missing.body.detail[0].loc, ["body", "action_type"]);
  const wrong = await server.post(`/${id}/execute`, { command: 1, more: 2 });
  assertEquals([wrong.status, wrong.body.detail[0].loc], [422, ["body", "command"]]);
});

Deno.test("a repeated request is answered, and not done again", async () => {
  await using server = new SwerexServer();
  const id = await server.rpc.create();
  const count = { command: "echo x >> /tmp/x; wc -l < /tmp/x", shell: true };
  const once = { "x-request-id": "one" };
  const send = (headers: Record<string, string>) => server.post(`/${id}/execute`, count, headers);
  const [first, second] = await Promise.all([send(once), send(once)]);
  assertEquals(first.body.stdout, "1\n");
  assertEquals(second, first);
  assertEquals((await send({})).body.stdout, "2\n");
  assertEquals(await send(once), first);
  assertEquals((await send({})).body.stdout, "3\n");

  // A failure was done as well: a client that did not hear of it must not do it twice.
  const fail = { ...count, command: `${count.command}; exit 7`, check: true };
  const two = { "x-request-id": "two" };
  const failed = await server.post(`/${id}/execute`, fail, two);
  assertEquals(failed.status, 511);
  assertEquals(await server.post(`/${id}/execute`, fail, two), failed);
  const key = await server.fetch(`/${id}/execute`, {
    method: "POST",
    headers: { ...two, "x-api-key": "wrong" },
  });
  assertEquals(key.status, 401);
});

Deno.test("execute runs a program as subprocess.run does", async () => {
  await using server = new SwerexServer();
  const id = await server.rpc.create({ env: { A: "1" }, workdir: "/usr" });
  const ran = (wish: object) => server.ok(`/${id}/execute`, wish);
  const bytes = await ran({ command: ["printf", "\\xff\\r\\n"] });
  assertEquals(bytes, { stdout: "\\xff\r\n", stderr: "", exit_code: 0 });
  assertEquals((await ran({ command: "echo $A; pwd", shell: true })).stdout, "1\n/usr\n");
  const bare = await ran({ command: ["/usr/bin/env"], env: { B: "2" } });
  assertEquals(bare.stdout, "B=2\n");
  assertEquals((await ran({ command: ["pwd"], cwd: "bin" })).stdout, "/usr/bin\n");
  assertEquals((await ran({ command: "kill -9 $$", shell: true })).exit_code, -9);
  assertEquals((await ran({ command: ["echo $1", "x", "y"], shell: true })).stdout, "y\n");
  const classOf = async (wish: object) => (await server.raised(`/${id}/execute`, wish)).class_path;
  assertEquals(await classOf({ command: "no such program" }), "builtins.FileNotFoundError");
  assertEquals(await classOf({ command: ["/etc/passwd"] }), "builtins.PermissionError");
  assertEquals(await classOf({ command: [] }), "builtins.ValueError");
  assertEquals(await classOf({ command: "a\0b" }), "builtins.ValueError");
  const failed = await server.raised(`/${id}/execute`, {
    command: ["false"],
    check: true,
    error_msg: "why",
  });
  assertEquals(failed.class_path, "swerex.exceptions.NonZeroExitCodeError");
  assertMatch(failed.message, /^why: Command \["false"\] failed with exit code 1\./);
  const late = { command: "sleep 100 & sleep 100", shell: true, timeout: 0.05 };
  assertEquals(await classOf(late), "swerex.exceptions.CommandTimeoutError");
});

Deno.test("files are read and written as they are", async () => {
  await using server = new SwerexServer();
  const id = await server.rpc.create({ workdir: "/tmp" });
  const [read, write] = [`/${id}/read_file`, `/${id}/write_file`];
  const modeOf = async (path: string) =>
    (await server.ok(`/${id}/execute`, { command: ["stat", "-c", "%a", path] })).stdout;
  const content = " é\r\n\0\rx";
  await server.ok(write, { path: "new/dir/x", content });
  assertEquals(await server.ok(read, { path: "/tmp/new/dir/x" }), { content });
  assertEquals(await modeOf("new/dir/x"), "644\n");
  await server.ok(`/${id}/execute`, { command: ["chmod", "750", "new/dir/x"] });
  await server.ok(`/${id}/execute`, { command: ["ln", "new/dir/x", "hard"] });
  await server.ok(write, { path: "hard", content: "shorter" });
  assertEquals(await server.ok(read, { path: "new/dir/x" }), { content: "shorter" });
  assertEquals(await modeOf("new/dir/x"), "750\n");

  await server.ok(`/${id}/execute`, {
    command: "printf '\\351' > latin; mkfifo fifo",
    shell: true,
  });
  assertEquals(await server.ok(read, { path: "latin", encoding: "latin-1" }), { content: "é" });
  assertEquals(await server.ok(read, { path: "latin", errors: "backslashreplace" }), {
    content: "\\xe9",
  });
  const classOf = async (path: string, wish: object) =>
    (await server.raised(path, wish)).class_path;
  assertEquals(await classOf(read, { path: "latin" }), "builtins.UnicodeDecodeError");
  assertEquals(await classOf(read, { path: "none" }), "builtins.FileNotFoundError");
  assertEquals(await classOf(read, { path: "latin/x" }), "builtins.NotADirectoryError");
  assertEquals(await classOf(read, { path: "/tmp" }), "builtins.OSError");
  assertEquals(await classOf(read, { path: "fifo" }), "builtins.OSError"); // and does not wait
  assertEquals(await classOf(write, { path: "/tmp", content: "" }), "builtins.OSError");
  assertEquals(
    await classOf(write, { path: "latin/x/y", content: "" }),
    "builtins.NotADirectoryError",
  );
});

Deno.test({
  name: "a zip becomes a tree with its modes, and leads nowhere else",
  ...requires("python3"),
  fn: async () => {
    await using server = new SwerexServer();
    const id = await server.rpc.create();
    using temp = tempDir();
    const zip = async (script: string) => {
      const path = `${temp.path}/x.zip`;
      await run(
        "python3",
        "-c",
        `import sys, zipfile\nz = zipfile.ZipFile(sys.argv[1], "w")\n${script}`,
        path,
      );
      return Deno.readFileSync(path);
    };
    const tree = await zip(`
def add(name, text, mode, how=zipfile.ZIP_DEFLATED):
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    info.compress_type = how
    z.writestr(info, text)
add("a/", "", 0o40700)
add("a/tool", "#!/bin/sh\\necho hi\\n", 0o100755)
add("stored", "s" * 100000, 0o100600, zipfile.ZIP_STORED)
add("ä\\\\b", "odd", 0o100644)
add("link", "/etc/passwd", 0o120777)
z.close()`);
    assertEquals(await server.upload(`/${id}`, { bytes: tree, target: "/tmp/t", isZip: true }), {
      status: 200,
      body: {},
    });
    const list = "cd /tmp/t; find . -printf '%p %y %m %s\\n' | sort; a/tool; cat link";
    const { stdout } = await server.ok(`/${id}/execute`, { command: list, shell: true });
    assertEquals(stdout.split("\n"), [
      ". d 755 " + stdout.split("\n")[0].split(" ").at(-1),
      "./a d 700 " + stdout.split("\n")[1].split(" ").at(-1),
      "./a/tool f 755 18",
      "./link f 644 11",
      "./stored f 600 100000",
      "./ä\\b f 644 3",
      "hi",
      "/etc/passwd",
    ]);

    const evil = await zip(`z.writestr("../../evil", "x")\nz.close()`);
    const damaged = tree.with(tree.indexOf(0x73, 300), 0);
    for (const bytes of [evil, damaged, tree.slice(0, -30), new Uint8Array(100)]) {
      const answer = await server.upload(`/${id}`, { bytes, target: "/tmp/v/w", isZip: true });
      assertEquals(answer.status, 511);
      assertEquals(answer.body.swerexception.class_path, "zipfile.BadZipFile");
    }
    const found = await server.ok(`/${id}/execute`, { command: ["find", "/tmp", "-name", "evil"] });
    assertEquals(found.stdout, "");
  },
});

Deno.test("what is written is the sandbox user's, and what is there keeps its owner", async () => {
  await using server = new SwerexServer();
  const id = await server.rpc.create({ user: 1000, workdir: "/tmp" });
  await server.ok(`/${id}/write_file`, { path: "new", content: "" });
  await server.upload(`/${id}`, { bytes: new Uint8Array(3), target: "/tmp/sent" });
  const append = "for it in new sent; do echo x >> $it && stat -c '%u %s' $it; done";
  const { stdout } = await server.ok(`/${id}/execute`, { command: append, shell: true });
  assertEquals(stdout, "1000 2\n1000 5\n");
});

Deno.test("a client that goes in the midst of an upload leaves nothing, and is no bug", async () => {
  await using server = new SwerexServer();
  const id = await server.rpc.create();
  const gone = new AbortController();
  const body = new ReadableStream<Uint8Array>({
    pull: (stream) => stream.enqueue(new Uint8Array(64 * 1024)),
  });
  const head = { "content-type": "multipart/form-data; boundary=x" };
  const init = { method: "POST", body, headers: head, signal: gone.signal };
  const sent = server.fetch(`/${id}/upload`, init);
  await server.fetch(`/${id}/is_alive`);
  gone.abort();
  await assertRejects(() => sent);
  assertEquals((await server.ok(`/${id}/execute`, { command: ["true"] })).exit_code, 0);
  await server.rpc.end();
  assertEquals(server.rpc.log.filter((line) => line.includes(" bug ")), []);
});

Deno.test("an upload of any bytes arrives whole", async () => {
  await using server = new SwerexServer();
  const id = await server.rpc.create();
  const bytes = crypto.getRandomValues(new Uint8Array(60_000));
  const large = new Uint8Array(50 * bytes.length);
  for (let i = 0; i < 50; i++) large.set(bytes, i * bytes.length);
  const sum = new Uint8Array(await crypto.subtle.digest("SHA-256", large)).toHex();
  assertEquals(await server.upload(`/${id}`, { bytes: large, target: "/tmp/new/x" }), {
    status: 200,
    body: {},
  });
  const { stdout } = await server.ok(`/${id}/execute`, { command: ["sha256sum", "/tmp/new/x"] });
  assertEquals(stdout, `${sum}  /tmp/new/x\n`);
});

Deno.test("what runs when the server is to end is answered", async () => {
  await using server = new SwerexServer();
  const id = await server.rpc.create({ detached: true });
  await server.ok(`/${id}/execute`, { command: ["mkfifo", "/tmp/f"] });
  const last = server.ok(`/${id}/execute`, {
    command: "echo begun > /tmp/f; sleep 0.2; echo done",
    shell: true,
  });
  await server.ok(`/${id}/execute`, { command: ["cat", "/tmp/f"] });
  server.rpc.child.kill("SIGTERM");
  assertEquals((await last).stdout, "done\n");
});
