/** Tests that no message, however mutated, ends a server or keeps it from answering the next. */
import { assert, assertEquals } from "@std/assert";
import { METHODS } from "../../src/app/server/method/mod.ts";
import { randomFrom } from "../support/random.ts";
import { TestServer } from "../support/rpc_client.ts";

const COUNT = Number(Deno.env.get("MINISANDBOX_TEST_FUZZ") ?? 5000);
const SEED = Number(Deno.env.get("MINISANDBOX_TEST_SEED") ?? 20261130);
const BATCH = 100;

const VALUES = [
  null,
  true,
  -1,
  0,
  1e308,
  2 ** 53,
  "",
  "\0",
  "../../x",
  "\ud800",
  [],
  {},
  [[[[]]]],
  { __proto__: 1 },
  { constructor: 1 },
  "sb-0-1",
  "default",
  { base64: "!" },
  ["true"],
] as const;

/** No call that ends the server, or that takes what is on this machine away. */
const SPARED = new Set(["shutdown", "layer.remove", "environment.remove"]);

Deno.test(`${COUNT} mutated calls to a server are answered, and so is each call after (seed ${SEED})`, async () => {
  await using server = new TestServer("--max-sandboxes", "8", "--log", "none");
  const sandbox = await server.create();
  await server.call("session.create", { sandbox });
  const below = randomFrom(SEED);
  const pick = <T>(all: readonly T[]): T => all[below(all.length)]!;
  const names = Object.keys(METHODS).filter((name) => !SPARED.has(name));
  const fields = [
    "sandbox",
    "session",
    "process",
    "command",
    "timeoutMs",
    "layers",
    "base",
    "path",
    "input",
    "keep",
    "env",
    "user",
    "limits",
    "upper",
    "data",
    "expect",
    "binds",
    "name",
    "x",
  ];
  const line = (): string => {
    const params: Record<string, unknown> = below(3) > 0 ? { sandbox } : {};
    for (let i = below(4); i > 0; i--) params[pick(fields)] = pick(VALUES);
    if (below(2) === 0) params["timeoutMs"] = 50;
    const message: Record<string, unknown> = {
      jsonrpc: pick(["2.0", "2.0", "2.0", "1.0", 2]),
      method: pick([...names, ...names, "nope", 7, ""]),
      params: below(8) === 0 ? pick(VALUES) : params,
      id: `f${below(1000)}`,
    };
    if (below(10) === 0) delete message[pick(Object.keys(message))];
    const text = JSON.stringify(message);
    if (below(6) > 0) return text;
    const at = below(text.length);
    return text.slice(0, at) + pick(["", '"', "}", "\\u", "\u0001", "[", text]) +
      text.slice(at + below(3));
  };
  for (let sent = 0; sent < COUNT; sent += BATCH) {
    const lines = Array.from({ length: BATCH }, () => line().replaceAll("\n", " "));
    assert(await server.send(`${lines.join("\n")}\n`));
    const { protocol } = await server.call<{ protocol: number }>("initialize");
    assertEquals(protocol, 1);
  }
  // What the fuzz has made may have used all the places.
  const { sandboxes } = await server.call<{ sandboxes: { sandbox: string }[] }>("sandbox.list");
  await Promise.all(sandboxes.map(({ sandbox }) => server.call("sandbox.close", { sandbox })));
  const fresh = await server.create();
  assertEquals((await server.run(fresh, "echo fine")).stdout.text, "fine\n");
});
