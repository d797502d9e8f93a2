/** Tests what a connection answers. */
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { CancelledError, GoneError, MethodError, UsageError } from "../../src/errors.ts";
import { type Dispatch, encodeFrame } from "../../src/rpc/mod.ts";
import { connectPeer, notification, type Received, request, settle } from "../support/rpc_peer.ts";

/** Answers with the params. */
const echo: Dispatch<string> = (_method, params) => params;

/** Knows `wait`, which ends when it is told to, or aborted; all else is answered at once. */
function waiting(): { dispatch: Dispatch<string>; started: string[]; release: () => void } {
  const started: string[] = [];
  const { promise, resolve } = Promise.withResolvers<string>();
  const dispatch: Dispatch<string> = (method, _params, { signal }) => {
    started.push(method);
    if (method !== "wait") return "done";
    return Promise.race([
      promise,
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    ]);
  };
  return { dispatch, started, release: () => resolve("released") };
}

function summary({ id, result, error }: Received): unknown[] {
  return error === undefined ? [id, result] : [id, error.code, error.data["kind"]];
}

Deno.test("a request is answered with what its method returns; undefined is null", async () => {
  using pair = connectPeer(echo);
  pair.peer.send(request(1, "m", { a: "ä" }), request("1", "m"), request(null, "m", [1]));
  assertEquals(await pair.peer.nextLine(), '{"jsonrpc":"2.0","id":1,"result":{"a":"ä"}}');
  assertEquals(await pair.peer.nextLine(), '{"jsonrpc":"2.0","id":"1","result":null}');
  assertEquals(await pair.peer.nextLine(), '{"jsonrpc":"2.0","id":null,"result":[1]}');
});

Deno.test("a peer that sends headers is answered with headers", async () => {
  using pair = connectPeer(echo);
  pair.peer.sendBytes(
    encodeFrame('{"jsonrpc":"2.0","id":1,"method":"m","params":["ä"]}', "header"),
  );
  pair.peer.sendBytes(encodeFrame("nonsense", "header"));
  assertEquals(await pair.peer.nextLine(), "Content-Length: 40\r");
  assertEquals(await pair.peer.nextLine(), "\r");
  await settle();
  assertStringIncludes(pair.peer.writes.join(""), '"result":["ä"]}Content-Length: ');
});

Deno.test("methods start in order, without waiting, and are answered as they end", async () => {
  const { dispatch, started, release } = waiting();
  using pair = connectPeer(dispatch);
  pair.peer.send(request(1, "wait"), request(2, "b"), request(3, "c"));
  assertEquals(summary(await pair.peer.next()), [2, "done"]);
  assertEquals(summary(await pair.peer.next()), [3, "done"]);
  assertEquals([started, pair.connection.inFlight], [["wait", "b", "c"], 1]);
  release();
  assertEquals(summary(await pair.peer.next()), [1, "released"]);
});

Deno.test("a method gets what belongs to its connection", async () => {
  using pair = connectPeer((_method, _params, { connection }) => connection);
  pair.peer.send(request(1, "m"));
  assertEquals(summary(await pair.peer.next()), [1, "its data"]);
});

Deno.test("what a method throws is the error: ours in full, a bug without its stack", async () => {
  using pair = connectPeer((method) => {
    if (method === "bug") throw new TypeError("x is undefined");
    if (method === "params") return Promise.reject(new UsageError("Cannot a: b"));
    throw new MethodError(`Cannot call "${method}": there is no such method`);
  });
  pair.peer.send(request(1, "bug"), request(2, "params"), request(3, "hasOwnProperty"));
  const [bug, params, unknown] = [
    await pair.peer.next(),
    await pair.peer.next(),
    await pair.peer.next(),
  ];
  assertEquals(summary(bug), [1, -32603, "internal"]);
  assertEquals(bug.error?.message, "x is undefined");
  assertEquals(summary(params), [2, -32602, "usage"]);
  assertEquals(summary(unknown), [3, -32601, "method"]);
  assertEquals(pair.bugs.length, 1);
});

Deno.test("a result that is not JSON is a bug, and answered as one", async () => {
  const cycle: Record<string, unknown> = {};
  cycle["self"] = cycle;
  const results: Record<string, unknown> = { big: 1n, cycle, code: () => {} };
  using pair = connectPeer((method) => results[method]);
  pair.peer.send(request(1, "big"), request(2, "cycle"), [request(3, "code"), request(4, "none")]);
  assertEquals(summary(await pair.peer.next()), [1, -32603, "internal"]);
  assertEquals(summary(await pair.peer.next()), [2, -32603, "internal"]);
  assertEquals((await pair.peer.nextBatch()).map(summary), [[3, -32603, "internal"], [4, null]]);
  assertEquals(pair.bugs.length, 3);
});

Deno.test("a notification is run and never answered, nor is a response", async () => {
  const seen: string[] = [];
  using pair = connectPeer((method) => {
    seen.push(method);
    if (method === "ours") throw new UsageError("m");
    if (method === "bug") throw new Error("m");
  });
  pair.peer.send(
    notification("ours"),
    notification("bug"),
    { jsonrpc: "2.0", id: 1, result: 1 },
    [notification("a"), notification("b")],
    request(1, "last"),
  );
  assertEquals(summary(await pair.peer.next()), [1, null]);
  assertEquals(seen, ["ours", "bug", "a", "b", "last"]);
  assertEquals(pair.bugs.length, 1);
});

Deno.test("bad input is answered, and what follows is served", async () => {
  using pair = connectPeer(echo, { maxMessageBytes: 1000 });
  const { peer } = pair;
  const cases: [string | Uint8Array, unknown[]][] = [
    ["garbage", [null, -32700, "parse"]],
    ['{"jsonrpc":"2.0","id":1,"meth', [null, -32700, "parse"]],
    [Uint8Array.of(0x22, 0xff, 0x22), [null, -32700, "parse"]],
    ["\0", [null, -32700, "parse"]],
    ["x".repeat(1001), [null, -32600, "usage"]],
    ["[".repeat(500), [null, -32600, "usage"]],
    ["[]", [null, -32600, "usage"]],
    ["7", [null, -32600, "usage"]],
    ['{"jsonrpc":"2.0","id":{},"method":"m"}', [null, -32600, "usage"]],
    ['{"jsonrpc":"2.0","id":8,"method":9}', [8, -32600, "usage"]],
    ['{"jsonrpc":"2.0","id":8,"method":"m","params":"p"}', [8, -32600, "usage"]],
    ['{"jsonrpc":"2.0","id":8,"method":"m\\u0000"}', [8, null]],
  ];
  for (const [bytes, answer] of cases) {
    peer.sendBytes(bytes);
    peer.sendBytes("\n");
    peer.send(request("after", "m"));
    assertEquals(summary(await peer.next()), answer);
    assertEquals(summary(await peer.next()), ["after", null]);
  }
  assertEquals(pair.bugs, []);
});

Deno.test("the second of two requests with one id is refused, the first goes on", async () => {
  const { dispatch, started, release } = waiting();
  using pair = connectPeer(dispatch);
  pair.peer.send(request(1, "wait"), request(1, "b"), request("1", "c"));
  const refused = await pair.peer.next();
  assertEquals(summary(refused), [1, -32600, "usage"]);
  assertEquals(
    refused.error?.message,
    "Cannot take a request: the id 1 is that of one under way",
  );
  assertEquals(summary(await pair.peer.next()), ["1", "done"]);
  release();
  assertEquals(summary(await pair.peer.next()), [1, "released"]);
  pair.peer.send(request(1, "again"));
  assertEquals(summary(await pair.peer.next()), [1, "done"]);
  assertEquals(started, ["wait", "c", "again"]);
});

Deno.test("an id is free as soon as its answer is written", async () => {
  using pair = connectPeer(echo);
  let left = 100;
  pair.peer.onWrite = () => {
    if (--left > 0) pair.peer.send(request(1, "m", [left]));
  };
  pair.peer.send(request(1, "m", [left]));
  for (let count = 100; count > 0; count--) {
    assertEquals(summary(await pair.peer.next()), [1, [count]]);
  }
});

Deno.test("two connections may use one id", async () => {
  const { dispatch, release } = waiting();
  using one = connectPeer(dispatch);
  using other = connectPeer(dispatch);
  one.peer.send(request(1, "wait"));
  other.peer.send(request(1, "wait"), notification("$/cancelRequest", { id: 1 }));
  assertEquals(summary(await other.peer.next()), [1, -32800, "cancelled"]);
  release();
  assertEquals(summary(await one.peer.next()), [1, "released"]);
});

Deno.test("$/cancelRequest aborts a request, whose error tells so", async () => {
  const reasons: unknown[] = [];
  using pair = connectPeer(async (_method, _params, { signal }) => {
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    reasons.push(signal.reason);
    throw new DOMException("stopped", "AbortError");
  });
  pair.peer.send(request("a", "m"), notification("$/cancelRequest", { id: "a" }));
  assertEquals(summary(await pair.peer.next()), ["a", -32800, "cancelled"]);
  assertEquals(reasons.map((reason) => reason instanceof CancelledError), [true]);
  assertEquals(pair.bugs, []);
});

Deno.test("cancelling what has ended, never was, or has no name is harmless", async () => {
  const signals: AbortSignal[] = [];
  using pair = connectPeer((_method, _params, { signal }) => {
    signals.push(signal);
  });
  pair.peer.send(request(1, "m"));
  assertEquals(summary(await pair.peer.next()), [1, null]);
  for (const params of [{ id: 1 }, { id: 2 }, { id: null }, { id: {} }, {}, [1], undefined]) {
    pair.peer.send(notification("$/cancelRequest", params));
  }
  pair.peer.send(request(2, "$/cancelRequest", { id: 1 }), request(3, "m"));
  assertEquals(summary(await pair.peer.next()), [2, null]);
  assertEquals(summary(await pair.peer.next()), [3, null]);
  assertEquals(signals.map(({ aborted }) => aborted), [false, false]);
});

Deno.test("a method that ends well although it was cancelled is answered with its result", async () => {
  using pair = connectPeer(async (_method, _params, { signal }) => {
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    return "ended";
  });
  pair.peer.send(request(1, "m"), notification("$/cancelRequest", { id: 1 }));
  assertEquals(summary(await pair.peer.next()), [1, "ended"]);
});

Deno.test("notify() comes ahead of the answer, also if nobody waits for it", async () => {
  using pair = connectPeer((_method, _params, context) => {
    for (let count = 0; count < 3; count++) void context.notify("$/progress", { count });
    return "done";
  });
  pair.peer.send(request(1, "m"));
  for (let count = 0; count < 3; count++) {
    const { method, params } = await pair.peer.next();
    assertEquals([method, params], ["$/progress", { count }]);
  }
  assertEquals(summary(await pair.peer.next()), [1, "done"]);
});

Deno.test("notify() throws what cannot be said, and does nothing once the connection is over", async () => {
  using pair = connectPeer(echo);
  await assertRejects(() => pair.connection.notify("m", { a: 1n }), TypeError);
  await pair.connection.notify("m", { a: 1 });
  assertEquals(await pair.peer.nextLine(), '{"jsonrpc":"2.0","method":"m","params":{"a":1}}');
  pair.connection.end();
  await pair.connection.notify("m", { a: 2 });
  assertEquals(pair.peer.writes.length, 1);
});

Deno.test("the end of a connection aborts what is under way, with an error of ours", async () => {
  const reasons: unknown[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  using pair = connectPeer((_method, _params, { signal }) => {
    resolve();
    return new Promise((_, reject) =>
      signal.addEventListener("abort", () => {
        reasons.push(signal.reason);
        reject(signal.reason);
      })
    );
  });
  pair.peer.send(request(1, "m"), request(2, "m"));
  await promise;
  await settle();
  pair.connection.end();
  assertEquals(reasons.map((reason) => reason instanceof GoneError), [true, true]);
  assertEquals(await pair.connection.closed, { kind: "ended" });
  await settle();
  assertEquals([pair.peer.writes, pair.bugs, pair.connection.inFlight], [[], [], 0]);
});
