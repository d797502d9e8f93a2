/** Tests batches. */
import { assert, assertEquals } from "@std/assert";
import type { Dispatch } from "../../src/rpc/mod.ts";
import { connectPeer, notification, type Received, request } from "../support/rpc_peer.ts";

function summary({ id, result, error }: Received): unknown[] {
  return error === undefined ? [id, result] : [id, error.code, error.data["kind"]];
}

const nameOf: Dispatch<string> = (method) => method;

Deno.test("a batch is answered by one array, of its requests and what is wrong", async () => {
  using pair = connectPeer(nameOf);
  pair.peer.send([
    request(1, "a"),
    notification("b"),
    7,
    request(2, "c"),
    request(2, "d"),
    { jsonrpc: "2.0", id: 9, result: 1 },
  ]);
  assertEquals(
    (await pair.peer.nextBatch()).map(summary).toSorted(),
    [
      [null, -32600, "usage"],
      [1, "a"],
      [2, -32600, "usage"],
      [2, "c"],
    ].toSorted(),
  );
  pair.peer.send([7]);
  assertEquals((await pair.peer.nextBatch()).map(summary), [[null, -32600, "usage"]]);
});

Deno.test("a batch of 10,000 is run, a bounded number at a time", async () => {
  let running = 0;
  let most = 0;
  using pair = connectPeer(async (_method, params) => {
    most = Math.max(most, ++running);
    await null;
    await null;
    running--;
    return params;
  }, { maxBatchRunning: 7 });
  const ids = Array.from({ length: 10_000 }, (_, id) => id);
  pair.peer.send(ids.map((id) => request(id, "m", [id])));
  const answers = await pair.peer.nextBatch();
  assertEquals(answers.map(({ id }) => id).toSorted((a, b) => Number(a) - Number(b)), ids);
  assert(answers.every(({ id, result }) => Array.isArray(result) && result[0] === id));
  assertEquals(most, 7);
  assertEquals(pair.connection.inFlight, 0);
});

Deno.test("a batch larger than allowed is refused as one", async () => {
  using pair = connectPeer(nameOf, { maxBatch: 2 });
  pair.peer.send([request(1, "m"), request(2, "m"), request(3, "m")], request(4, "m"));
  assertEquals(summary(await pair.peer.next()), [null, -32600, "usage"]);
  assertEquals(summary(await pair.peer.next()), [4, "m"]);
});

Deno.test("a request of a batch can be cancelled before its turn, and then is not run", async () => {
  const started: unknown[] = [];
  const first = Promise.withResolvers<string>();
  using pair = connectPeer((method) => {
    started.push(method);
    return method === "a" ? first.promise : method;
  }, { maxBatchRunning: 1 });
  pair.peer.send([request(1, "a"), request(2, "b"), request(3, "c")]);
  pair.peer.send(notification("$/cancelRequest", { id: 2 }), request(4, "d"));
  assertEquals(summary(await pair.peer.next()), [4, "d"]);
  first.resolve("a");
  assertEquals((await pair.peer.nextBatch()).map(summary), [
    [1, "a"],
    [2, -32800, "cancelled"],
    [3, "c"],
  ]);
  assertEquals(started, ["a", "d", "c"]);
});

Deno.test("cancelling the part of a batch that has ended is harmless", async () => {
  const signals: AbortSignal[] = [];
  const last = Promise.withResolvers<string>();
  using pair = connectPeer((method, _params, { signal }) => {
    signals.push(signal);
    return method === "wait" ? last.promise : method;
  });
  pair.peer.send([request(1, "a"), request(2, "wait")]);
  pair.peer.send(request(3, "b"));
  assertEquals(summary(await pair.peer.next()), [3, "b"]);
  pair.peer.send(notification("$/cancelRequest", { id: 1 }), request(4, "c"));
  assertEquals(summary(await pair.peer.next()), [4, "c"]);
  last.resolve("end");
  assertEquals((await pair.peer.nextBatch()).map(summary), [[1, "a"], [2, "end"]]);
  assert(signals.every(({ aborted }) => !aborted));
});

Deno.test("the ids of a batch are in use until it is answered", async () => {
  const last = Promise.withResolvers<string>();
  using pair = connectPeer((method) => method === "wait" ? last.promise : method);
  pair.peer.send([request(1, "a"), request(2, "wait")], request(1, "b"));
  assertEquals(summary(await pair.peer.next()), [1, -32600, "usage"]);
  last.resolve("end");
  assertEquals((await pair.peer.nextBatch()).map(summary), [[1, "a"], [2, "end"]]);
  pair.peer.send(request(1, "b"));
  assertEquals(summary(await pair.peer.next()), [1, "b"]);
});
