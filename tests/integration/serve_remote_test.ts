/** Tests of looking into a server that runs: `ps`, `exec`, `shell`, `close`. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { BINARY, minisandbox, refusal, type RunOptions, start } from "../support/minisandbox.ts";
import { readUntil } from "../support/read_until.ts";
import { requires } from "../support/requirement.ts";
import { TestServer } from "../support/rpc_client.ts";
import { tempDir } from "../support/temp_dir.ts";

/** A server on a socket, once it listens, with a sandbox in it. */
async function serving(): Promise<
  & { readonly server: TestServer; readonly sandbox: string; readonly path: string }
  & AsyncDisposable
> {
  const dir = tempDir();
  const path = `${dir.path}/socket`;
  const server = new TestServer("--socket", path, "--stdio");
  const sandbox = await server.create({ labels: { task: "7" }, key: "k", workdir: "/tmp" });
  return {
    server,
    sandbox,
    path,
    [Symbol.asyncDispose]: async () => {
      await server.end();
      dir[Symbol.dispose]();
    },
  };
}

Deno.test("ps lists the sandboxes of a server, and what runs in one", async () => {
  await using at = await serving();
  const env = { MINISANDBOX_SOCKET: at.path };
  const all = await minisandbox(["ps"], { env });
  assertEquals([all.code, all.stderr], [0, ""]);
  assertMatch(all.stdout, /^SANDBOX +AGE +PID +RUNNING +WORKDIR +KEY +LABELS\n/);
  assert(all.stdout.includes(at.sandbox) && all.stdout.includes("task=7"), all.stdout);

  await at.server.call("process.start", { sandbox: at.sandbox, command: ["sleep", "1000"] });
  const one = await minisandbox(["ps", "--socket", at.path, "--json", at.sandbox]);
  const [process] = JSON.parse(one.stdout);
  assertEquals([process.argv, process.outcome], [["sleep", "1000"], null]);
});

Deno.test("exec joins our streams to a command, and exits as it does", async () => {
  await using at = await serving();
  const exec = (args: string[], options: RunOptions = {}) =>
    minisandbox(["exec", "--socket", at.path, ...args], options);
  const plain = await exec([at.sandbox, "--", "bash", "-c", "pwd; echo e >&2; exit 3"]);
  assertEquals([plain.code, plain.stdout, plain.stderr], [3, "/tmp\n", "e\n"]);
  const cat = await exec([
    "-i",
    "-e",
    "A=1",
    "-w",
    "/",
    at.sandbox,
    "--",
    "bash",
    "-c",
    "cat; pwd; echo $A",
  ], {
    stdin: "in\n",
  });
  assertEquals([cat.code, cat.stdout], [0, "in\n/\n1\n"]);
  const bytes = new Uint8Array(300_000).map((_, i) => i % 256);
  const same = await exec(["-i", at.sandbox, "--", "cat"], { stdin: bytes });
  assertEquals(same.stdoutBytes, bytes);
  const long = await exec([at.sandbox, "--", "head", "-c", "20000000", "/dev/zero"]);
  assertEquals(long.stdoutBytes.length, 20_000_000);
  assertEquals((await exec([at.sandbox, "--", "nope"])).code, 127);
  assertEquals((await exec([at.sandbox, "--", "sh", "-c", "kill -9 $$"])).code, 137);
});

Deno.test("exec passes signals on, and its command ends with it", async () => {
  await using at = await serving();
  const script = "trap 'echo got; exit 5' TERM; echo on; while :; do sleep 0.01; done";
  const child = start(["exec", "--socket", at.path, at.sandbox, "--", "bash", "-c", script]);
  await child.stdin.close();
  const reader = child.stdout.getReader();
  await reader.read();
  child.kill("SIGTERM");
  assertEquals(new TextDecoder().decode((await reader.read()).value), "got\n");
  assertEquals((await child.status).code, 5);
  reader.releaseLock();
  await Promise.all([child.stdout.cancel(), child.stderr.cancel()]);

  const doomed = start([
    "exec",
    "--socket",
    at.path,
    at.sandbox,
    "--",
    "bash",
    "-c",
    "echo on; exec sleep 1000",
  ]);
  await doomed.stdin.close();
  const output = doomed.stdout.getReader();
  await output.read();
  doomed.kill("SIGKILL");
  await doomed.status;
  output.releaseLock();
  await Promise.all([doomed.stdout.cancel(), doomed.stderr.cancel()]);
  await at.server.run(at.sandbox, "while grep -qx sleep /proc/[0-9]*/comm; do :; done");
});

Deno.test({
  name: "shell opens a shell on a terminal",
  ...requires("script"),
  fn: async () => {
    await using at = await serving();
    const child = new Deno.Command("script", {
      args: [
        ...["--quiet", "--return", "--command"],
        'stty rows 21 cols 77; exec "$M" shell --socket "$AT" "$ID"',
        "/dev/null",
      ],
      env: { M: BINARY, AT: at.path, ID: at.sandbox, SHELL: "/bin/bash" },
      stdin: "piped",
      stdout: "piped",
    }).spawn();
    const [reader, writer] = [child.stdout.getReader(), child.stdin.getWriter()];
    await readUntil(reader, "#");
    await writer.write(new TextEncoder().encode("stty size; tty; exit 7\n"));
    const shown = await readUntil(reader, "/dev/pts/0");
    assertEquals(shown.includes("21 77"), true);
    assertEquals((await child.status).code, 7);
    reader.releaseLock();
    await Promise.all([writer.close(), child.stdout.cancel()]);
  },
});

Deno.test("close ends sandboxes by name, or all", async () => {
  await using at = await serving();
  const close = (...args: string[]) => minisandbox(["close", "--socket", at.path, ...args]);
  assertEquals((await close(at.sandbox)).stdout, `${at.sandbox}\n`);
  assertEquals((await close(at.sandbox)).stdout, `${at.sandbox} had ended already\n`);
  await at.server.create();
  await at.server.create();
  assertEquals((await close("--all")).stdout.split("\n").length, 3);
  assertEquals((await at.server.call<{ sandboxes: unknown[] }>("sandbox.list")).sandboxes, []);
});

Deno.test("without a socket, or a server at it, the error says what to do", async () => {
  const [code, line] = refusal(await minisandbox(["ps"]));
  assertEquals(code, 125);
  assertMatch(line, /^Cannot reach a server: no socket is named. Give --socket PATH/);
  const [, lost] = refusal(await minisandbox(["ps", "--socket", "/nowhere/s"]));
  assertMatch(
    lost,
    /^Cannot reach a server at "\/nowhere\/s": .*ENOENT.* minisandbox serve --socket/,
  );
});
