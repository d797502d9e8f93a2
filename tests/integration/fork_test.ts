/** Tests of forks and snapshots of live sandboxes: all of one moment, and apart from then on. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { sharedStore } from "../support/minisandbox.ts";
import { requires } from "../support/requirement.ts";
import { answerError, TestServer } from "../support/rpc_client.ts";
import { exists } from "../support/tree.ts";

interface Forks {
  readonly sandboxes: { readonly sandbox: string }[];
}

async function fork(server: TestServer, sandbox: string, more: object = {}): Promise<string[]> {
  const { sandboxes } = await server.call<Forks>("sandbox.fork", { sandbox, ...more });
  return sandboxes.map(({ sandbox }) => sandbox);
}

async function bash(server: TestServer, sandbox: string, script: string): Promise<string> {
  const { stdout, stderr } = await server.run(sandbox, script);
  assertEquals(stderr.text, "");
  return stdout.text;
}

/** Writes, changes, replaces, hides and removes, in both parts of a base host. */
const CHANGES = `
  cd /root && mkdir -p a/b empty && echo one >a/file && ln a/file a/hard && ln -s file a/link
  mkfifo a/fifo && touch -d '2001-02-03 04:05:06.789' a/file && chmod 4711 a/hard && chmod 700 empty
  truncate -s 1M a/holes && printf x >>a/holes && touch a/closed && chmod 0 a/closed && chmod 500 a/b
  echo etc >>/etc/motd && rm /etc/shells && echo new >/usr/local/bin/new
  rm /usr/bin/tail && cp /usr/bin/head /usr/bin/other && rm /usr/bin/head
  rm -r /usr/share/common-licenses && mkdir /usr/share/common-licenses
  echo x >/usr/share/common-licenses/own && rm -rf /usr/games && echo file >/usr/games && chmod 711 /
`;

const SHOW = `
  find / -maxdepth 0 -printf '%m %U\\n'
  find /root /etc/motd /usr/local /usr/games /usr/share/common-licenses /usr/bin/other \\
    -printf '%y %m %U:%G %n %s %b %T@ %p %l\\n' 2>&1 | grep -v '^d.*%n' | sort
  cd /; ls -d etc/shells usr/bin/tail usr/bin/head 2>&1
  cat /root/a/file /etc/motd /usr/games /usr/share/common-licenses/own
`;

Deno.test("a fork begins with all that was written, as it was", async () => {
  await using server = new TestServer();
  const first = await server.create();
  await bash(server, first, CHANGES);
  const before = await bash(server, first, SHOW);
  assertMatch(before, /tail.: No such file/);
  const [second] = await fork(server, first);
  assertEquals(await bash(server, second!, SHOW), before);
});

Deno.test("forks of forks keep what each wrote, and hide what each removed", async () => {
  await using server = new TestServer();
  let last = await server.create();
  for (let i = 0; i < 5; i++) {
    await bash(server, last, `cd /srv; echo ${i} >f${i}; mkdir d${i}; rm -rf f${i - 2} d${i - 1}`);
    [last] = await fork(server, last) as [string];
  }
  assertEquals(await bash(server, last, "cd /srv; echo *; cat f*"), "d4 f3 f4\n3\n4\n");
});

Deno.test("64 forks of one state diverge, and outlive what they came from", async () => {
  await using server = new TestServer();
  const first = await server.create();
  await bash(server, first, "seq 10000 >/srv/shared; echo same >/srv/own");
  const forks = await fork(server, first, { count: 64 });
  assertEquals(new Set(forks).size, 64);
  await server.call("sandbox.close", { sandbox: first });
  await Promise.all(forks.map((id, i) => bash(server, id, `echo ${i} >/srv/own; rm /srv/shared`)));
  const own = await Promise.all(forks.map((id) => bash(server, id, "cat /srv/*")));
  assertEquals(own, forks.map((_, i) => `${i}\n`));
});

Deno.test("a copy is shared by its forks, and goes with the last of them", async () => {
  await using server = new TestServer();
  // Others are made in advance: what a sandbox uses is mounted, what is shared lies at the top.
  const isUsed = (dir: string) => ["0", "work/0/work"].some((name) => exists(`${dir}/${name}`));
  const dir = `${sharedStore()}/runs`;
  const runs = () => [...Deno.readDirSync(dir)].filter(({ name }) => isUsed(`${dir}/${name}`));
  const first = await server.create();
  await bash(server, first, "echo x >/srv/f");
  assertEquals(runs().length, 1);
  const forks = await fork(server, first, { count: 3 });
  assertEquals(runs().length, 5);
  for (const sandbox of [first, ...forks.slice(1)]) await server.call("sandbox.close", { sandbox });
  assertEquals(runs().length, 2);
  assertEquals(await bash(server, forks[0]!, "cat /srv/f"), "x\n");
  await server.call("sandbox.close", { sandbox: forks[0] });
  assertEquals(runs().length, 0);
});

Deno.test("programs are stopped for the copy and go on after it, but not those that were before", async () => {
  await using server = new TestServer();
  const first = await server.create();
  // Each line is written twice: between two there is always a moment when they differ.
  const writer = "while :; do i=$((i+1)); echo $i >>/srv/a; echo $i >>/srv/b; done";
  const { process } = await server.call<{ process: string }>("process.start", {
    sandbox: first,
    command: `for j in 1 2 3; do (${writer}) & done; wait`,
  });
  await bash(server, first, "sleep 1000 & echo $! >/srv/pid; kill -STOP $!");
  await bash(server, first, "until [ -s /srv/b ]; do :; done");
  const forks = (await Promise.all(Array.from({ length: 8 }, () => fork(server, first)))).flat();
  for (const id of forks) {
    const [a, b] = (await bash(server, id, "wc -l </srv/a; wc -l </srv/b")).split("\n").map(Number);
    assert(a! - b! >= 0 && a! - b! <= 3, `${a} and ${b}`);
  }
  const size = "stat -c %s /srv/a";
  const before = Number(await bash(server, first, size));
  await bash(server, first, `until [ $(${size}) -gt ${before} ]; do :; done`);
  assertMatch(await bash(server, first, "cat /proc/$(cat /srv/pid)/stat"), /^\d+ \(.*\) T /);
  await server.call("process.signal", { process, signal: "SIGKILL", tree: true });
});

Deno.test({
  name: "a fork in the middle of git commit is a whole repository",
  ...requires("git"),
  fn: async () => {
    await using server = new TestServer();
    const first = await server.create({ env: { GIT_CONFIG_GLOBAL: "/dev/null" } });
    await bash(
      server,
      first,
      "git init -q /srv/r && cd /srv/r && git config user.name x && git config user.email x@x",
    );
    const commits = "cd /srv/r; while :; do i=$((i+1)); seq $i $((i+500)) >f; git add f; " +
      "git commit -qm $i; [ -e /srv/ready ] || touch /srv/ready; done";
    await server.call("process.start", { sandbox: first, command: commits });
    await bash(server, first, "until [ -e /srv/ready ]; do :; done");
    for (let i = 0; i < 5; i++) {
      const [id] = await fork(server, first) as [string];
      const check =
        "cd /srv/r; git fsck --strict --no-dangling 2>&1 >/dev/null | grep -v ^notice; " +
        "git rev-parse -q --verify HEAD >/dev/null && echo whole";
      assertEquals(await bash(server, id, check), "whole\n");
      await server.call("sandbox.close", { sandbox: id });
    }
  },
});

Deno.test("a shell sees nothing of being stopped", async () => {
  await using server = new TestServer();
  const first = await server.create();
  const running = server.run(
    first,
    "set -m; for i in $(seq 200); do sh -c 'sleep 0.005'; done; jobs; echo end",
  );
  const forks = [];
  for (let i = 0; i < 6; i++) forks.push(...await fork(server, first));
  const { stdout, outcome } = await running;
  assertEquals([stdout.text, outcome.code], ["end\n", 0]);
  assertEquals(forks.length, 6);
});

Deno.test("with freeze false, nothing is copied while a program runs", async () => {
  await using server = new TestServer();
  const first = await server.create();
  const { process } = await server.call<{ process: string }>("process.start", {
    sandbox: first,
    command: "sleep 1000",
  });
  const still = { sandbox: first, freeze: false };
  assertEquals((await answerError(server.call("sandbox.fork", still))).data.kind, "usage");
  await server.call("process.signal", { process, signal: "SIGKILL" });
  await server.call("process.wait", { process });
  assertEquals((await server.call<Forks>("sandbox.fork", still)).sandboxes.length, 1);
});

Deno.test("a snapshot of a live sandbox is there for others, with what its origin had written", async () => {
  await using server = new TestServer();
  const first = await server.create();
  await bash(server, first, "echo one >/srv/one; echo one >/srv/both; rm /usr/bin/tail");
  const [second] = await fork(server, first) as [string];
  await bash(server, second, "echo two >/srv/both; rm /srv/one");
  const kept = await server.call("sandbox.snapshot", { sandbox: second, name: "both" });
  assertEquals(kept.name, "both");
  await server.call("sandbox.close", { sandbox: first });
  await server.call("sandbox.close", { sandbox: second });
  const third = await server.create({ from: ["both"] });
  assertEquals(
    await bash(server, third, "cd /srv; echo *; cat both; ls /usr/bin/tail 2>&1 | wc -w"),
    "both\ntwo\n9\n",
  );
  const again = server.call("sandbox.snapshot", { sandbox: third, name: "both" });
  assertEquals((await answerError(again)).data.kind, "usage");
  const { name } = await server.call<{ name: string }>("sandbox.snapshot", { sandbox: third });
  const { snapshots } = await server.call<{ snapshots: { name: string }[] }>("snapshot.list");
  assertEquals(snapshots.map((it) => it.name).sort(), ["both", name].sort());
  await server.call("sandbox.close", { sandbox: third });
  for (const it of snapshots) await server.call("snapshot.remove", { name: it.name });
});

Deno.test("a sandbox that has ended, or writes to memory, has no forks", async () => {
  await using server = new TestServer("--max-sandboxes", "4");
  const first = await server.create();
  const many = server.call("sandbox.fork", { sandbox: first, count: 4 });
  assertEquals((await answerError(many)).data.kind, "busy");
  await server.call("sandbox.close", { sandbox: first });
  const gone = await answerError(server.call("sandbox.fork", { sandbox: first }));
  assertEquals(gone.data.kind, "gone");
});
