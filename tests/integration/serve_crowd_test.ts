/** Tests that a server answers hundreds of clients at once, each its own, and is as it was after them. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { Client } from "../../src/rpc/mod.ts";
import { connectTo } from "../../src/session/mod.ts";
import { answerError, type Metrics, TestServer } from "../support/rpc_client.ts";
import { tempDir } from "../support/temp_dir.ts";

const CLIENTS = 200;

/** Every so many-th has a sandbox. */
const EACH = 20;

/** Calls of each client, all at once. */
const ROUNDS = 5;

/** Our own, and those that wait for files, which go when they have had nothing to do for long. */
const MOST_THREADS = 10;

function connect(path: string): Client & Disposable {
  const { input, output } = connectTo(path);
  return Object.assign(new Client({ input, output }), {
    [Symbol.dispose]: () => {
      input.close();
      output.close();
    },
  });
}

/** What the server has open when nobody but us is there, and it has prepared all it does. */
async function settled(
  server: TestServer,
  isReached: (state: Metrics) => boolean,
): Promise<Metrics> {
  for (;;) {
    const state = await server.whenReady();
    if (state.sandboxes.live === 0 && isReached(state)) return state;
  }
}

/** Calls that need no sandbox, answered or refused, and their answers checked. */
async function ask(client: Client, number: number): Promise<void> {
  const call = (method: string, params: object) => client.call(method, params);
  await Promise.all(Array.from({ length: ROUNDS }, async (_, round) => {
    const label = `${number}-${round}`;
    const [list, metrics] = await Promise.all([
      client.call<{ sandboxes: unknown[] }>("sandbox.list", { labels: { of: label } }),
      client.call<Metrics>("metrics", {}),
    ]);
    assertEquals(list.sandboxes, []);
    assertEquals(typeof metrics.process.openFiles, "number");
    const never = await answerError(call("sandbox.info", { sandbox: `sb-0-${label}` }));
    assertMatch(never.message, new RegExp(`"sb-0-${label}"`));
    const unknown = await answerError(call(`none.${label}`, {}));
    assertEquals(unknown.code, -32601);
    const wrong = await answerError(call("process.run", { sandbox: 1, [`field-${label}`]: 2 }));
    assertEquals(wrong.code, -32602);
    assertEquals(await call("sandbox.close", { sandbox: `sb-0-${label}` }), { closed: false });
  }));
}

/** A sandbox of its own, and what was written there comes back. */
async function work(client: Client, number: number): Promise<void> {
  const { sandbox } = await client.call<{ sandbox: string }>("sandbox.create", {});
  const path = "/srv/of/mine";
  await client.call("file.write", { sandbox, path, data: `${number}` });
  const command = `cat ${path}; echo more >>${path}`;
  const ran = await client.call<{ stdout: { text: string } }>("process.run", { sandbox, command });
  assertEquals(ran.stdout.text, `${number}`);
  const { changes } = await client.call<{ changes: { path: { text: string } }[] }>("sandbox.diff", {
    sandbox,
    root: "/srv",
  });
  assertEquals(changes.map((it) => it.path.text), ["of", "of/mine"]);
  const read = await client.call<{ text: string }>("file.read", { sandbox, path });
  assertEquals(read.text, `${number}more\n`);
}

Deno.test(`${CLIENTS} clients of a socket at once get their own answers, and leave nothing`, async () => {
  using dir = tempDir();
  const path = `${dir.path}/s`;
  await using server = new TestServer("--socket", path, "--stdio");
  await server.call("initialize");
  {
    using first = connect(path); // what is opened once is open then
    await ask(first, -1);
    await work(first, -1);
  }
  const before = await settled(server, () => true);

  const clients = Array.from({ length: CLIENTS }, () => connect(path));
  try {
    await Promise.all(clients.map((client, i) => ask(client, i)));
    const { process } = await server.call<Metrics>("metrics");
    assert(process.openFiles > before.process.openFiles + CLIENTS);
    await Promise.all(clients.map(async (client, i) => {
      if (i % EACH === 0) await work(client, i);
      await ask(client, i);
    }));
  } finally {
    for (const client of clients) client[Symbol.dispose]();
  }
  const { openFiles } = before.process;
  const after = await settled(server, ({ process }) => process.openFiles <= openFiles);
  assertEquals(after.process.openFiles, openFiles);
  assert(after.process.threads <= MOST_THREADS, `${after.process.threads} threads`);
});
