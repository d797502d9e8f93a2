/** Tests of what a server makes in advance: a sandbox made of it is like any other, and none of it stays. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { kill } from "../../ffi/mod.ts";
import { childrenOf, TestServer } from "../support/rpc_client.ts";
import { tar } from "../support/tar.ts";
import { tempDir } from "../support/temp_dir.ts";

const SIGKILL = 9;

/** All that can be seen of its mounts and its rights, by a program and of init, but numbers and times. */
const LOOK = `cut -d ' ' -f 3- /proc/self/mountinfo | sed 's/^[0-9:]* //' | sort
  cut -d ' ' -f 4- /proc/1/mountinfo; cat /proc/1/limits /proc/self/cgroup; grep -E 'Cap|NoNew|Sec' /proc/1/status
  cat /proc/self/uid_map; grep -E 'Cap|NoNew|Sec|Groups|Umask' /proc/self/status
  readlink /proc/1/root /proc/1/cwd /proc/1/fd/0; stat -c '%A %u %g %N' / /* /dev/* /usr/*`;

async function look(server: TestServer, params: object = {}): Promise<string> {
  const sandbox = await server.create(params);
  const { stdout, stderr } = await server.run(sandbox, LOOK);
  await server.call("sandbox.close", { sandbox });
  return stdout.text + stderr.text;
}

Deno.test("a sandbox of what is ready looks inside as one that was made at once", async () => {
  await using server = new TestServer();
  const first = await look(server);
  assert((await server.whenReady()).sandboxes.ready > 0);
  assertEquals(await look(server), first);
  assertMatch(first, /^\/ \/ rw,nodev/m);
  // Of what it is made of, not even init tells.
  assert(!first.includes("/runs/"), first);
  // Others are made as they are asked for, and what is ready is of their kind then.
  const small = { limits: { tmpBytes: 1 << 20 } };
  const other = await look(server, small);
  await server.whenReady();
  assertEquals(await look(server, small), other);
  assert(other !== first);
});

Deno.test("what is ready has room for few layers until a sandbox has had many", async () => {
  using temp = tempDir();
  await using server = new TestServer();
  const layers = Array.from({ length: 20 }, (_, i) => {
    const archive = `${temp.path}/${i}.tar`;
    Deno.writeFileSync(archive, tar({ name: "f", body: `${i} ` }));
    return { archive, path: `/opt/${i}` };
  });
  await server.create();
  for (let round = 0; round < 2; round++) {
    await server.whenReady();
    const sandbox = await server.create({ layers });
    const { stdout } = await server.run(
      sandbox,
      "cat $(ls -dv /opt/*/f); echo >/usr/x && ls /usr/x",
    );
    assertEquals(stdout.text, `${layers.map((_, i) => `${i} `).join("")}/usr/x\n`);
  }
});

Deno.test("as many are kept ready as a crowd took, whoever asks for one meanwhile", async () => {
  await using server = new TestServer();
  const ask = () => server.create();
  await Promise.all(Array.from({ length: 24 }, ask));
  const { ready } = (await server.whenReady()).sandboxes;
  assert(ready >= 24, `${ready} are ready`); // some of the first may have been made while others were
  for (let i = 0; i < 3; i++) {
    await ask();
    assertEquals((await server.whenReady()).sandboxes.ready, ready);
  }
});

Deno.test("what is ready and ends is not taken, and nothing of it outlives the server", async () => {
  await using server = new TestServer();
  const sandbox = await server.create();
  await server.whenReady();
  const { pid } = await server.call<{ pid: number }>("sandbox.info", { sandbox });
  const { ready: count } = (await server.whenReady()).sandboxes;
  assert(count > 0);
  let ready: number[];
  // One made last may still have the server's name: it is init's once it runs.
  do ready = childrenOf(server).filter((it) => it !== pid && nameOf(it) === "init"); while (
    ready.length < count
  );
  assertEquals(ready.length, count);
  for (const it of ready) kill(it, SIGKILL);
  while (ready.some(isAlive)); // a signal is on its way for a moment
  const answers = await Promise.all(ready.map(async (_, i) => {
    const made = await server.create();
    return (await server.run(made, `echo ${i}`)).stdout.text;
  }));
  assertEquals(answers, ready.map((_, i) => `${i}\n`));
  await server.whenReady();
  const all = childrenOf(server);
  await server.end();
  assertEquals(all.filter((it) => nameOf(it) === "init"), []);
});

/** Not what has ended and is not reaped. */
function isAlive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) [ZX]/s.test(Deno.readTextFileSync(`/proc/${pid}/stat`));
  } catch {
    return false;
  }
}

function nameOf(pid: number): string | null {
  try {
    return Deno.readTextFileSync(`/proc/${pid}/cmdline`).replaceAll("\0", "");
  } catch {
    return null;
  }
}
