/** Attacks by programs on those who move files in and out of their sandbox while they run. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { AnswerError } from "../../src/rpc/mod.ts";
import { PYTHON } from "../support/attack.ts";
import { answerError, TestServer } from "../support/rpc_client.ts";
import { tempDir } from "../support/temp_dir.ts";
import { describeTree } from "../support/tree.ts";

/** How often a race is run. */
const ROUNDS = 40;

/** What must never be read, and stay as it is. */
function makeVictim(path: string): string {
  Deno.mkdirSync(path);
  Deno.writeTextFileSync(`${path}/f`, "precious");
  Deno.chmodSync(path, 0o777);
  return path;
}

async function bash(server: TestServer, sandbox: string, script: string): Promise<void> {
  const { outcome, stderr } = await server.run(sandbox, script);
  assertEquals([outcome.code, stderr.text], [0, ""]);
}

/** Starts a program that goes on until its sandbox ends, and waits for its first round. */
async function startLoop(server: TestServer, sandbox: string, body: string): Promise<void> {
  const code =
    `import os\nn = 0\nwhile True:\n${body}\n    n += 1\n    if n == 1: open("/srv/ready", "w").close()`;
  await server.call("process.start", { sandbox, command: [PYTHON, "-c", code] });
  await bash(server, sandbox, "until [ -e /srv/ready ]; do :; done");
}

/** Makes calls that may each be refused, and gives their answers as text. */
async function attempt(calls: readonly Promise<unknown>[]): Promise<string> {
  const answers = await Promise.allSettled(calls);
  return JSON.stringify(answers.map((answer) => {
    if (answer.status === "fulfilled") return answer.value;
    assert(answer.reason instanceof AnswerError, String(answer.reason));
    assert(answer.reason.data.kind !== "internal", answer.reason.message);
    return null;
  }));
}

Deno.test("a link that a program made leads a caller nowhere but inside", async () => {
  await using server = new TestServer();
  using temp = tempDir();
  const victim = makeVictim(`${temp.path}/victim`);
  const before = describeTree(victim);
  Deno.symlinkSync(`${victim}/f`, `${temp.path}/link`);
  assertEquals(Deno.readTextFileSync(`${temp.path}/link`), "precious"); // it works outside
  const sandbox = await server.create();
  const call = (name: string, path: string, more: object = {}) =>
    server.call(`file.${name}`, { sandbox, path, ...more });

  await bash(
    server,
    sandbox,
    `ln -s ${victim}/f /srv/link; ln -s ${victim} /srv/d; sleep 1000 >/srv/log &`,
  );
  assertEquals((await answerError(call("read", "/srv/link"))).data.kind, "notFound");
  await call("write", "/srv/d/f", { data: "mine" }).catch(() => {});
  await call("makeDir", "/srv/d/made").catch(() => {});
  assertEquals((await answerError(call("list", "/srv/d"))).data.kind, "notFound");
  assertEquals(describeTree(victim), before);

  // Links of /proc lead to what init, or a program, has open or stands in.
  for (const place of ["root", "cwd", "fd/0", "fd/1", "exe", "root/srv"]) {
    for (const pid of ["1", "self", "thread-self", "2"]) {
      await bash(server, sandbox, `ln -sfn /proc/${pid}/${place} /srv/magic`);
      for (const path of ["/srv/magic", "/srv/magic/etc/shadow", `/proc/${pid}/${place}`]) {
        for (const atomic of [true, false]) {
          const error = await answerError(
            call("write", path, { data: "x", atomic, makeParents: false }),
          );
          assert(["usage", "notFound"].includes(error.data.kind), `${path}: ${error.message}`);
        }
        const error = await answerError(call("read", path));
        assert(["usage", "notFound"].includes(error.data.kind), `${path}: ${error.message}`);
      }
    }
  }
});

Deno.test("a directory that becomes a link while it is used leads a caller nowhere but inside", async () => {
  await using server = new TestServer();
  using temp = tempDir();
  const victim = makeVictim(`${temp.path}/victim`);
  const before = describeTree(victim);
  Deno.mkdirSync(`${temp.path}/tree/d`, { recursive: true });
  Deno.writeTextFileSync(`${temp.path}/tree/d/f`, "uploaded");
  const sandbox = await server.create();
  await bash(server, sandbox, `mkdir -p /srv/t/d; ln -s ${victim} /srv/l; echo own >/srv/t/d/f`);
  await startLoop(
    server,
    sandbox,
    ["d x", "../l d", "d ../l", "x d"].map((pair) => {
      const [from, to] = pair.split(" ").map((name) => JSON.stringify(`/srv/t/${name}`));
      return `    try: os.rename(${from}, ${to})\n    except OSError: pass`;
    }).join("\n"),
  );
  const call = (name: string, path: string, more: object = {}) =>
    server.call(`file.${name}`, { sandbox, path, ...more });
  for (let i = 0; i < ROUNDS; i++) {
    const told = await attempt([
      call("read", "/srv/t/d/f"),
      call("write", "/srv/t/d/f", { data: "written" }),
      call("write", "/srv/t/d/g", { data: "written", atomic: false }),
      call("list", "/srv/t/d"),
      call("stat", "/srv/t/d/f"),
      call("makeDir", "/srv/t/d/made/deep"),
      call("remove", "/srv/t/d/g"),
    ]);
    assert(!told.includes("precious"));
  }
  for (let i = 0; i < 4; i++) {
    await attempt([
      call("upload", "/srv/t", { hostPath: `${temp.path}/tree` }),
      call("download", "/srv/t", { hostPath: `${temp.path}/down-${i}` }),
      call("remove", "/srv/t/d/made", { recursive: true }),
      server.call("sandbox.diff", { sandbox, root: "/srv/t" }),
    ]);
  }
  assertEquals(describeTree(victim), before);
});

Deno.test("a file that becomes a pipe while it is used makes nobody wait, and gets nothing", async () => {
  await using server = new TestServer();
  const sandbox = await server.create();
  await bash(server, sandbox, "cd /srv; mkfifo pipe; echo text >file; cp file f");
  // Whoever reads the pipe would get what is written to it.
  await bash(server, sandbox, "(cat /srv/pipe >>/srv/got) >/dev/null 2>&1 &");
  await startLoop(
    server,
    sandbox,
    `    os.link("/srv/pipe", "/srv/p"); os.rename("/srv/p", "/srv/f")
    os.link("/srv/file", "/srv/q"); os.rename("/srv/q", "/srv/f")
    for name in ("/srv/p", "/srv/q"):
        if os.path.lexists(name): os.unlink(name)`,
  );
  for (let i = 0; i < ROUNDS; i++) {
    await attempt([
      server.call("file.read", { sandbox, path: "/srv/f" }),
      server.call("file.write", { sandbox, path: "/srv/f", data: "secret", atomic: false }),
      server.call("file.stat", { sandbox, path: "/srv/f", follow: true }),
    ]);
  }
  const { stdout } = await server.run(sandbox, "cat /srv/got");
  assertEquals(stdout.text, "");
});

Deno.test("what is downloaded twice does not go where a link leads that came first", async () => {
  await using server = new TestServer();
  using temp = tempDir();
  const victim = makeVictim(`${temp.path}/victim`);
  const before = describeTree(victim);
  const sandbox = await server.create();
  const down = () =>
    server.call("file.download", { sandbox, path: "/srv", hostPath: `${temp.path}/down` });
  await bash(server, sandbox, `ln -s ${victim} /srv/d`);
  await down();
  assertEquals(Deno.readLinkSync(`${temp.path}/down/d`), victim);
  await bash(server, sandbox, "rm /srv/d; mkdir /srv/d; echo mine >/srv/d/f");
  await assertRejects(down, AnswerError);
  assertEquals(describeTree(victim), before);
});

Deno.test("a program cannot make itself an owner, or a set-uid program, on the host", async () => {
  await using server = new TestServer();
  using temp = tempDir();
  const sandbox = await server.create();
  await bash(server, sandbox, "cd /srv; mkdir t; cp /bin/true t/s; chmod 6755 t/s; mkfifo t/p");
  for (const path of ["t", "t/s"]) {
    await server.call("file.download", {
      sandbox,
      path: `/srv/${path}`,
      hostPath: `${temp.path}/${path.replace("/", "-")}`,
    });
  }
  for (const file of ["t/s", "t-s"]) {
    const { mode, uid } = Deno.statSync(`${temp.path}/${file}`);
    assertEquals([file, mode! & 0o7000, uid], [file, 0, Deno.uid()]);
  }
});

Deno.test("a program that stops what it finds, and makes ever more, delays no copy for ever", async () => {
  await using server = new TestServer();
  const sandbox = await server.create({ limits: { pids: 60 } });
  await server.call("process.start", {
    sandbox,
    command:
      "while :; do (sleep 0.01 & sleep 0.02) & kill -STOP -1; kill -CONT -1; done 2>/dev/null",
  });
  const told = await attempt([
    server.call("sandbox.fork", { sandbox }),
    server.call("sandbox.fork", { sandbox }),
  ]);
  assertEquals(typeof told, "string");
  assertEquals(await server.call("sandbox.close", { sandbox }), { closed: true });
});
