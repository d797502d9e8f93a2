/** Tests that a connection is bounded, and how it ends. */
import { assert, assertEquals } from "@std/assert";
import {
  connectPeer,
  notification,
  type Received,
  request,
  RpcPeer,
  settle,
} from "../support/rpc_peer.ts";

function summary({ id, result, error }: Received): unknown[] {
  return error === undefined ? [id, result] : [id, error.code, error.data["kind"]];
}

Deno.test("more requests than may be under way are told busy, and the rest goes on", async () => {
  const gate = Promise.withResolvers<string>();
  using pair = connectPeer(() => gate.promise, { maxInFlight: 2 });
  const { peer } = pair;
  peer.send(request(1, "m"), request(2, "m"), request(3, "m"), [request(4, "m"), request(5, "m")]);
  const busy = await peer.next();
  assertEquals(summary(busy), [3, -32007, "busy"]);
  assertEquals(busy.error?.data["remedy"], "Wait for answers before sending more.");
  assertEquals((await peer.nextBatch()).map(summary), [[4, -32007, "busy"], [5, -32007, "busy"]]);
  gate.resolve("done");
  assertEquals(summary(await peer.next()), [1, "done"]);
  assertEquals(summary(await peer.next()), [2, "done"]);
  peer.send([6, 7, 8].map((id) => request(id, "m"))); // one batch may pass the bound
  assertEquals((await peer.nextBatch()).map(summary), [6, 7, 8].map((id) => [id, "done"]));
});

Deno.test("requests are bounded by their bytes too", async () => {
  const gate = Promise.withResolvers<string>();
  using pair = connectPeer(() => gate.promise, { maxInFlightBytes: 1000 });
  pair.peer.send(request(1, "m", ["x".repeat(1000)]), request(2, "m"));
  assertEquals(summary(await pair.peer.next()), [2, -32007, "busy"]);
  gate.resolve("done");
  assertEquals(summary(await pair.peer.next()), [1, "done"]);
  pair.peer.send(request(3, "m"));
  assertEquals(summary(await pair.peer.next()), [3, "done"]);
});

Deno.test("a notification waits where a request would be told busy; a cancellation does not", async () => {
  const seen: string[] = [];
  using pair = connectPeer((method, _params, { signal }) => {
    seen.push(method);
    if (method !== "wait") return "done";
    return new Promise((_, reject) =>
      signal.addEventListener("abort", () => reject(signal.reason))
    );
  }, { maxInFlight: 1 });
  pair.peer.send(request(1, "wait"), notification("$/cancelRequest", { id: 1 }));
  assertEquals(summary(await pair.peer.next()), [1, -32800, "cancelled"]);
  const gate = Promise.withResolvers<string>();
  using other = connectPeer((method) => {
    seen.push(method);
    return gate.promise;
  }, { maxInFlight: 1 });
  other.peer.send(request(2, "first"), notification("second"));
  await settle();
  assertEquals(seen, ["wait", "first"]);
  gate.resolve("done");
  assertEquals(summary(await other.peer.next()), [2, "done"]);
  await settle();
  assertEquals(seen, ["wait", "first", "second"]);
});

Deno.test("a notification that waits is not run once the connection is drained", async () => {
  const seen: string[] = [];
  const gate = Promise.withResolvers<string>();
  using pair = connectPeer((method) => {
    seen.push(method);
    return gate.promise;
  }, { maxInFlight: 1 });
  pair.peer.send(request(1, "first"), notification("second"));
  await settle();
  const drained = pair.connection.drain();
  gate.resolve("done");
  assertEquals(await drained, { kind: "drained" });
  await settle();
  assertEquals(seen, ["first"]);
});

Deno.test("20,000 requests in one chunk are no more than a method that is quick can take", async () => {
  using pair = connectPeer((_method, params) => Promise.resolve(params));
  const ids = Array.from({ length: 20_000 }, (_, id) => id);
  pair.peer.send(...ids.map((id) => request(id, "m")));
  for (const id of ids) assertEquals(summary(await pair.peer.next()), [id, null]);
});

Deno.test("from a peer that does not read, nothing is read; others are served", async () => {
  const answer = "x".repeat(1000);
  let run = 0;
  using deaf = connectPeer(() => (run++, answer), { maxQueuedBytes: 10_000 });
  using other = connectPeer(() => "done");
  const readAgain = deaf.peer.stopReading();
  for (let id = 0; id < 1000; id++) deaf.peer.send(request(id, "m"), "garbage");
  await settle();
  assert(run < 20, `${run} were run`);
  assert(deaf.connection.queuedBytes < 12_000, `${deaf.connection.queuedBytes} bytes wait`);
  assert(deaf.peer.chunksAsked < 20, `${deaf.peer.chunksAsked} chunks were read`);
  other.peer.send(request(1, "m"));
  assertEquals(summary(await other.peer.next()), [1, "done"]);
  readAgain();
  for (let id = 0; id < 1000; id++) {
    assertEquals(summary(await deaf.peer.next()), [id, answer]);
    assertEquals(summary(await deaf.peer.next()), [null, -32600, "usage"]);
  }
});

Deno.test("answers of what was under way wait outside the queue, however large", async () => {
  const gate = Promise.withResolvers<string>();
  using pair = connectPeer(() => gate.promise, { maxQueuedBytes: 10_000 });
  const readAgain = pair.peer.stopReading();
  for (let id = 0; id < 100; id++) pair.peer.send(request(id, "m"));
  await settle();
  assertEquals(pair.connection.inFlight, 100);
  gate.resolve("x".repeat(5000));
  await settle();
  assert(pair.connection.queuedBytes < 16_000, `${pair.connection.queuedBytes} bytes wait`);
  assertEquals(pair.connection.inFlight, 98);
  readAgain();
  for (let id = 0; id < 100; id++) assertEquals((await pair.peer.next()).id, id);
  assertEquals([pair.connection.inFlight, pair.connection.queuedBytes], [0, 0]);
});

Deno.test("notify() resolves when the queue has room", async () => {
  let sent = 0;
  using pair = connectPeer(async (_method, _params, context) => {
    for (; sent < 100; sent++) await context.notify("out", { text: "x".repeat(1000) });
  }, { maxQueuedBytes: 10_000 });
  const readAgain = pair.peer.stopReading();
  pair.peer.send(request(1, "m"));
  await settle();
  assertEquals(sent, 10);
  readAgain();
  for (let count = 0; count < 100; count++) {
    assertEquals((await pair.peer.next()).method, "out");
  }
  assertEquals(summary(await pair.peer.next()), [1, null]);
});

Deno.test("many small messages are written together", async () => {
  using pair = connectPeer((_method, _params, context) => {
    for (let count = 0; count < 1000; count++) void context.notify("out", {});
  });
  pair.peer.send(request(1, "m"));
  for (let count = 0; count < 1000; count++) await pair.peer.next();
  assertEquals(summary(await pair.peer.next()), [1, null]);
  assert(pair.peer.writes.length < 5, `${pair.peer.writes.length} writes`);
});

Deno.test("a peer that sends, or reads, without end does not stop timers", async () => {
  const value = new TextEncoder().encode('{"jsonrpc":"2.0","method":"m"}\n'.repeat(1000));
  const flood = new RpcPeer(() => Promise.resolve({ done: false, value }));
  using sends = connectPeer(() => {}, {}, flood);
  using reads = connectPeer(async (_method, _params, { notify, signal }) => {
    while (!signal.aborted) await notify("out", {});
  });
  reads.peer.send(request(1, "m"));
  await settle();
  assertEquals((await reads.peer.next()).method, "out");
  assertEquals(sends.bugs, []);
});

Deno.test("many requests in one chunk do not stop timers", async () => {
  let run = 0;
  using pair = connectPeer(() => {
    run++;
    for (const start = performance.now(); performance.now() - start < 1;);
  });
  pair.peer.send(...Array.from({ length: 1000 }, (_, id) => request(id, "m")));
  pair.peer.endInput();
  await settle();
  assert(run < 1000, "all were run before the event loop turned ten times");
});

Deno.test("an input that fails ends the connection, with the cause", async () => {
  const cause = new Error("ECONNRESET");
  using pair = connectPeer(() => {}, {}, new RpcPeer(() => Promise.reject(cause)));
  assertEquals(await pair.connection.closed, { kind: "peerGone", cause });
});

Deno.test("a write that finds the peer gone ends the connection", async () => {
  const signals: AbortSignal[] = [];
  using pair = connectPeer((method, _params, { signal }) => {
    signals.push(signal);
    return method === "wait" ? new Promise(() => {}) : "done";
  });
  pair.peer.leave();
  pair.peer.send(request(1, "wait"), request(2, "m"));
  assertEquals(await pair.connection.closed, { kind: "peerGone", cause: undefined });
  assertEquals(signals.map(({ aborted }) => aborted), [true, false]);
  pair.peer.send(request(3, "m"));
  await settle();
  assertEquals(signals.length, 2);
});

Deno.test("drain() reads no more, and ends once all is answered and written", async () => {
  const gate = Promise.withResolvers<string>();
  const signals: AbortSignal[] = [];
  using pair = connectPeer((_method, _params, { signal }) => {
    signals.push(signal);
    return gate.promise;
  });
  const readAgain = pair.peer.stopReading();
  pair.peer.send(request(1, "m"), [request(2, "m"), 7]);
  await settle();
  const drained = pair.connection.drain();
  pair.peer.send(request(3, "m"));
  await settle();
  gate.resolve("done");
  await settle();
  assertEquals(pair.peer.writes, []);
  readAgain();
  assertEquals(await drained, { kind: "drained" });
  assertEquals(summary(await pair.peer.next()), [1, "done"]);
  assertEquals((await pair.peer.nextBatch()).map(summary), [[null, -32600, "usage"], [2, "done"]]);
  assertEquals(signals.map(({ aborted }) => aborted), [false, false]);
});

Deno.test("end() ends a drain that would not", async () => {
  using pair = connectPeer(() => new Promise(() => {}));
  pair.peer.send(request(1, "m"));
  await settle();
  const drained = pair.connection.drain();
  await settle();
  pair.connection.end();
  assertEquals(await drained, { kind: "ended" });
});

Deno.test("at the end of the input requests are answered, a last line and a batch of faults too", async () => {
  using pair = connectPeer(async (method) => {
    await settle();
    return method;
  });
  pair.peer.sendBytes('{"jsonrpc":"2.0","id":1,"method":"m"}\n[7]\n');
  pair.peer.sendBytes('{"jsonrpc":"2.0","id":2,"method":"n"}');
  pair.peer.endInput();
  assertEquals(await pair.connection.closed, { kind: "inputEnded" });
  assertEquals((await pair.peer.nextBatch()).map(summary), [[null, -32600, "usage"]]);
  assertEquals(summary(await pair.peer.next()), [1, "m"]);
  assertEquals(summary(await pair.peer.next()), [2, "n"]);
});

Deno.test("after the end of the input what goes on is aborted, and may still be answered", async () => {
  using pair = connectPeer(
    (_method, _params, { signal }) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    {
      graceMs: 1,
    },
  );
  pair.peer.send(request(1, "m"));
  pair.peer.endInput();
  assertEquals(await pair.connection.closed, { kind: "inputEnded" });
  assertEquals(summary(await pair.peer.next()), [1, -32006, "gone"]);
});

Deno.test("an input that ends does not wait for a method that never does, nor a deaf peer", async () => {
  using stuck = connectPeer(() => new Promise(() => {}), { graceMs: 1 });
  stuck.peer.send(request(1, "m"));
  stuck.peer.endInput();
  assertEquals(await stuck.connection.closed, { kind: "inputEnded" });
  using deaf = connectPeer(() => "done", { graceMs: 1 });
  deaf.peer.stopReading();
  deaf.peer.send(request(1, "m"));
  deaf.peer.endInput();
  assertEquals(await deaf.connection.closed, { kind: "inputEnded" });
});
