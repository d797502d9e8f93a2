/** Tests of programs in the sandboxes of a server: `process.*`. */
import { assert, assertEquals, assertLess, assertMatch } from "@std/assert";
import { answerError, type RunAnswer, TestServer } from "../support/rpc_client.ts";

const EXITED = { kind: "exited", code: 0, signal: null, reached: [] };

/** The programs of a sandbox but init and the one that lists them. */
async function listPrograms(server: TestServer, sandbox: string): Promise<string[]> {
  const { stdout } = await server.run(
    sandbox,
    "for it in /proc/[0-9]*; do [ $it = /proc/1 ] || [ $it = /proc/$$ ] || cat $it/comm; done",
  );
  return stdout.text.split("\n").filter((name) => name !== "");
}

Deno.test("process.run tells status, stdout and stderr to the byte", async () => {
  await using server = new TestServer();
  const sandbox = await server.create();
  const ran = await server.run(sandbox, "printf ' a\\r\\n'; echo err >&2; exit 3");
  assertEquals(ran.outcome, { ...EXITED, code: 3 });
  assertEquals(ran.stdout, { text: " a\r\n", lossy: false, totalBytes: 4, omittedBytes: 0 });
  assertEquals(ran.stderr.text, "err\n");

  const words = await server.run(sandbox, ["printf", "%s|", "a b", "*", ""]);
  assertEquals(words.stdout.text, "a b|*||");
  const merged = await server.run(sandbox, "echo 1; echo 2 >&2; echo 3", { merge: true });
  assertEquals([merged.stdout.text, merged.stderr.text], ["1\n2\n3\n", ""]);
});

Deno.test("process.run gives a program its stdin, directory, variables and user", async () => {
  await using server = new TestServer();
  const sandbox = await server.create({ env: { A: "1", B: "2" } });
  const read = async (command: string | string[], more: object) =>
    (await server.run(sandbox, command, more)).stdout.text;
  assertEquals(await read(["cat"], { stdin: "x\ny" }), "x\ny");
  assertEquals(await read(["cat"], { stdin: { base64: "/wA=" }, base64: true }), "\ufffd\0");
  assertEquals(await read(["cat"], {}), ""); // nothing to read is the end, not a wait
  assertEquals(
    await read("pwd; echo $A$B$C", { cwd: "/tmp", env: { B: "3", C: "4" } }),
    "/tmp\n134\n",
  );
  assertEquals(await read(["env"], { env: { ONLY: "this" }, clearEnv: true }), "ONLY=this\n");
  assertEquals(await read("echo $HOME $LANG $TERM", {}), "/root C.UTF-8 dumb\n");
  assertEquals(await read(["id", "-u"], {}), "0\n");
});

Deno.test("a deadline ends a program with all that it started, and what it printed is told", async () => {
  await using server = new TestServer();
  const sandbox = await server.create();
  const ran = await server.run(
    sandbox,
    "seq 10; sleep 1000 & (setsid sleep 1000 &) ; trap '' TERM INT; sleep 1000 & wait",
    { timeoutMs: 500 },
  );
  assertEquals(ran.outcome.kind, "timedOut");
  assertEquals(ran.stdout.text, Array.from({ length: 10 }, (_, i) => `${i + 1}\n`).join(""));
  assertEquals(await listPrograms(server, sandbox), []);
});

Deno.test("a program that prints nothing for too long is ended, one that prints is not", async () => {
  await using server = new TestServer();
  const sandbox = await server.create();
  const loop = "for i in 1 2 3 4; do echo $i; sleep 0.5; done";
  const noisy = await server.run(sandbox, loop, { noOutputMs: 2000 });
  assertEquals(noisy.outcome, EXITED);
  const silent = await server.run(sandbox, "echo a; sleep 1000", { noOutputMs: 300 });
  assertEquals([silent.outcome.kind, silent.stdout.text], ["noOutput", "a\n"]);
  assertEquals(await listPrograms(server, sandbox), []);
});

Deno.test("a grandchild that holds stdout open does not delay the answer, and lives on", async () => {
  await using server = new TestServer();
  const sandbox = await server.create();
  const ran = await server.run(
    sandbox,
    "(while sleep 0.01; do echo late; done) & echo $!; echo hi",
  );
  const [pid, hi] = ran.stdout.text.split("\n");
  assertEquals([ran.outcome, hi], [EXITED, "hi"]);
  // It goes on though nobody listens: what it prints is read and forgotten.
  const { outcome } = await server.run(sandbox, `sleep 0.2; kill -0 ${pid}`);
  assertEquals(outcome, EXITED);
});

Deno.test("output past what is kept has a head, a tail and a count", async () => {
  await using server = new TestServer();
  const sandbox = await server.create();
  const whole = await server.run(sandbox, "seq 1 1000000", {
    keep: { headBytes: 8_000_000, tailBytes: 0 },
  });
  assertEquals([whole.stdout.totalBytes, whole.stdout.omittedBytes], [6_888_896, 0]);
  assert(whole.stdout.text.endsWith("\n1000000\n"));

  const cut = await server.run(sandbox, "seq 1 1000000", { keep: { headBytes: 4, tailBytes: 8 } });
  assertEquals(cut.stdout, {
    text: "1\n2\n",
    lossy: false,
    totalBytes: 6_888_896,
    omittedBytes: 6_888_884,
    tail: { text: "1000000\n", lossy: false } as { text: string },
  });
  const wide = await server.run(sandbox, "printf 'ää'; printf '%0100d' 0; printf 'öö'", {
    keep: { headBytes: 3, tailBytes: 3 },
  });
  assertEquals([wide.stdout.text, wide.stdout.tail?.text], ["ä", "ö"]);
});

Deno.test("output past what may be printed ends the program", async () => {
  await using server = new TestServer();
  const sandbox = await server.create();
  const ran = await server.run(sandbox, "yes", { maxOutputBytes: 1_000_000 });
  assertEquals(ran.outcome, {
    kind: "outputLimit",
    code: null,
    signal: "SIGKILL",
    reached: ["outputLimit"],
  });
  assertEquals(ran.stdout.totalBytes, 1_000_000);
  const { outcome } = await server.run(sandbox, "while :; do echo y; done", { timeoutMs: 500 });
  assertEquals(outcome.kind, "timedOut");
});

Deno.test("10 MiB on stdout and stderr together come whole", async () => {
  await using server = new TestServer();
  const sandbox = await server.create();
  const ran = await server.run(
    sandbox,
    "head -c 10485760 /dev/zero & head -c 10485760 /dev/zero >&2; wait",
    { keep: { headBytes: 16 * 2 ** 20 } },
  );
  assertEquals([ran.stdout.totalBytes, ran.stderr.totalBytes], [10485760, 10485760]);
  assertEquals([ran.stdout.omittedBytes, ran.stderr.omittedBytes], [0, 0]);
});

Deno.test("bytes that are no UTF-8 are mended in text and exact in base64", async () => {
  await using server = new TestServer();
  const sandbox = await server.create();
  const ran = await server.run(sandbox, "printf '\\xff\\xfea\\0'", { base64: true });
  assertEquals([ran.stdout.text, ran.stdout.lossy], ["\ufffd\ufffda\0", true]);
  assertEquals(ran.stdout.base64, new Uint8Array([0xff, 0xfe, 0x61, 0]).toBase64());
  const lossy = await server.run(sandbox, "printf '\\xff'; echo a >&2", { base64: "ifLossy" });
  assertEquals([lossy.stdout.base64, lossy.stderr.base64], ["/w==", undefined]);
});

Deno.test("process.start streams each stream with offsets, and its stdin is written to", async () => {
  await using server = new TestServer();
  const sandbox = await server.create();
  const { process } = await server.call<{ process: string }>("process.start", {
    sandbox,
    command: "while read -r line; do echo $line; echo e$line >&2; done",
    stdinOpen: true,
    stream: true,
  });
  for (const word of ["one", "two"]) {
    assertEquals(await server.call("process.write", { process, data: `${word}\n` }), {
      written: true,
    });
    await server.until((all) =>
      all.filter(({ params }) => String(params["text"]).includes(word)).length === 2
    );
  }
  assertEquals(await server.call("process.write", { process, last: true }), { written: true });
  const { ended } = await server.call<{ ended: { outcome: unknown } }>("process.wait", { process });
  assertEquals(ended.outcome, EXITED);
  const heard = server.notified.filter(({ method }) => method === "process.output")
    .map(({ params }) => [params["stream"], params["offset"], params["text"]]);
  assertEquals(heard.filter(([stream]) => stream === "stdout"), [["stdout", 0, "one\n"], [
    "stdout",
    4,
    "two\n",
  ]]);
  assertEquals(heard.filter(([stream]) => stream === "stderr"), [["stderr", 0, "eone\n"], [
    "stderr",
    5,
    "etwo\n",
  ]]);
  assertEquals(await server.call("process.write", { process, data: "x" }), { written: false });
});

Deno.test("a stream with credit waits for more, and the program with it", async () => {
  await using server = new TestServer();
  const sandbox = await server.create();
  const { process } = await server.call<{ process: string }>("process.start", {
    sandbox,
    command: "head -c 4000000 /dev/zero",
    stream: true,
    creditBytes: 100_000,
  });
  const heard = () =>
    server.notified.reduce((sum, { params }) => sum + String(params["text"] ?? "").length, 0);
  await server.until(() => heard() >= 100_000);
  const early = await server.call<{ ended: unknown }>("process.wait", { process, timeoutMs: 300 });
  assertEquals(early.ended, null);
  assertLess(heard(), 300_000);
  await server.call("process.credit", { process, bytes: 10_000_000 });
  const { ended } = await server.call<{ ended: unknown }>("process.wait", { process });
  assert(ended !== null);
  assertEquals(heard(), 4_000_000);
});

Deno.test("signals reach a program by name, and its tree by wish", async () => {
  await using server = new TestServer();
  const sandbox = await server.create();
  const begin = async (command: string) =>
    (await server.call<{ process: string }>("process.start", { sandbox, command })).process;
  const wait = async (process: string) =>
    (await server.call<{ ended: RunAnswer }>("process.wait", { process })).ended.outcome;

  const first = await begin("exec sleep 1000");
  assertEquals(await server.call("process.signal", { process: first, signal: "SIGINT" }), {
    sent: true,
  });
  assertEquals((await wait(first)).signal, "SIGINT");
  assertEquals(await server.call("process.signal", { process: first }), { sent: false });

  const second = await begin("setsid sleep 1000 & trap '' TERM; sleep 1000");
  assertEquals(await server.call("process.signal", { process: second, tree: true }), {
    sent: true,
  });
  assertEquals((await wait(second)).kind, "cancelled");
  assertEquals(await listPrograms(server, sandbox), []);
});

Deno.test("a program on a terminal has its size, and is told of a new one", async () => {
  await using server = new TestServer();
  const sandbox = await server.create();
  const ran = await server.run(sandbox, "tty; stty size", { terminal: { rows: 33, columns: 99 } });
  assertEquals(ran.stdout.text, "/dev/pts/0\r\n33 99\r\n");
  const { process } = await server.call<{ process: string }>("process.start", {
    sandbox,
    command: "trap 'stty size; exit' WINCH; echo on; while :; do sleep 0.01; done",
    terminal: { rows: 33, columns: 99 },
    stream: true,
  });
  await server.until((all) => all.some(({ params }) => params["text"] === "on\r\n"));
  await server.call("process.resize", { process, terminal: { rows: 44, columns: 55 } });
  const { stdout } = await server.call<{ stdout: { text: string } }>("process.wait", { process });
  assertEquals(stdout.text, "on\r\n44 55\r\n");
});

Deno.test("a call that is cancelled ends its program, and is answered so", async () => {
  await using server = new TestServer();
  const sandbox = await server.create();
  const stop = new AbortController();
  const ran = server.call("process.run", {
    sandbox,
    command: "touch /tmp/on; setsid sleep 1000 & sleep 1000",
  }, stop.signal);
  await server.run(sandbox, "until [ -e /tmp/on ]; do :; done");
  stop.abort();
  assertEquals((await answerError(ran)).data.kind, "cancelled");
  await server.run(sandbox, "while grep -qx sleep /proc/[0-9]*/comm; do :; done");
});

Deno.test("what cannot be started is an error with its exit code", async () => {
  await using server = new TestServer();
  const sandbox = await server.create();
  const missing = await answerError(server.run(sandbox, ["nope"]));
  assertEquals([missing.code, missing.data.kind, missing.data["exitCode"]], [
    -32003,
    "command",
    127,
  ]);
  const plain = await answerError(server.run(sandbox, ["/etc/passwd"]));
  assertEquals([plain.data.kind, plain.data["exitCode"]], ["command", 126]);
  const lost = await answerError(server.run(sandbox, ["true"], { cwd: "/nowhere" }));
  assertMatch(lost.message, /^Cannot .*\/nowhere/);
  for (const command of [[], [""], ["a\0b"], 7]) {
    const wrong = await answerError(server.call("process.run", { sandbox, command }));
    assertEquals([command, wrong.code], [command, -32602]);
  }
});

Deno.test("a limit that ends a program is named, and counted for that program alone", async () => {
  await using server = new TestServer();
  const sandbox = await server.create({ limits: { fileBytes: 1_000_000, pids: 30 } });
  const file = await server.run(sandbox, ["dd", "if=/dev/zero", "of=/tmp/x", "bs=1M", "count=2"]);
  assertEquals(file.outcome.kind, "fileSizeLimit");
  const fork = await server.run(sandbox, "for i in {1..60}; do sleep 1000 & done; wait", {
    timeoutMs: 1000,
  });
  assertEquals(fork.outcome.kind, "timedOut");
  assert(fork.outcome.reached.includes("pidsLimit"), JSON.stringify(fork.outcome));
  assertEquals((await server.run(sandbox, ["false"])).outcome.reached, []);
});

Deno.test("a sandbox whose init is ended from outside is gone, not a status", async () => {
  await using server = new TestServer();
  const sandbox = await server.create();
  const running = server.run(sandbox, "sleep 1000");
  running.catch(() => {});
  const { pid } = await server.call<{ pid: number }>("sandbox.info", { sandbox });
  Deno.kill(pid, "SIGKILL");
  assertEquals((await answerError(running)).data.kind, "gone");
  assertEquals((await answerError(server.run(sandbox, ["true"]))).data.kind, "gone");
});
