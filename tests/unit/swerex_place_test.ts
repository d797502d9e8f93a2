/** Tests which sandbox a path names, and which answers are kept. */
import { assertEquals, assertThrows } from "@std/assert";
import { parseRoot, readPath } from "../../src/app/server/swerex/place.ts";
import { ReplayCache, type SentAnswer } from "../../src/app/server/swerex/replay.ts";

Deno.test("a path names a sandbox and an endpoint", () => {
  const root = { kind: "key", key: "main" } as const;
  const environment = { kind: "environment", environment: "django", key: "a/b" } as const;
  assertEquals(readPath("/sb-1f-2/execute", null), {
    prefix: { kind: "id", id: "sb-1f-2" },
    endpoint: "execute",
  });
  assertEquals(readPath("/e/django/a%2Fb/", null), { prefix: environment, endpoint: "" });
  assertEquals(readPath("//k/main//is_alive", null), { prefix: root, endpoint: "is_alive" });
  assertEquals(readPath("/is_alive", root), { prefix: root, endpoint: "is_alive" });
  assertEquals(readPath("/is_alive", null), { prefix: null, endpoint: "is_alive" });
  assertEquals(readPath("/e/django", null), { prefix: null, endpoint: "e/django" });
  assertThrows(() => readPath("/k/%zz/close", null), URIError);
});

Deno.test("what stands for a path without a sandbox names one, and no endpoint", () => {
  assertEquals(parseRoot("k/main"), { kind: "key", key: "main" });
  assertEquals(parseRoot("/e/django/1/"), { kind: "environment", environment: "django", key: "1" });
  assertEquals(parseRoot("e/django"), null);
  assertEquals(parseRoot("k/main/close"), null);
  assertEquals(parseRoot("django"), null);
});

function answer(body: string, isFinal = true): SentAnswer {
  return { status: 200, body, isFinal };
}

Deno.test("a repeated request is answered without being done again, also while it is done", async () => {
  const cache = new ReplayCache();
  const { promise, resolve } = Promise.withResolvers<SentAnswer>();
  let count = 0;
  const work = () => {
    count++;
    return promise;
  };
  const both = [cache.answer("a", work), cache.answer("a", work)];
  resolve(answer("once"));
  assertEquals((await Promise.all(both)).map(({ body }) => body), ["once", "once"]);
  assertEquals((await cache.answer("a", work)).body, "once");
  assertEquals(count, 1);
});

Deno.test("requests without an id, and those that asked nobody, are done each time", async () => {
  const cache = new ReplayCache();
  let count = 0;
  const work = (isFinal: boolean) => () => Promise.resolve(answer(`${++count}`, isFinal));
  assertEquals((await cache.answer(null, work(true))).body, "1");
  assertEquals((await cache.answer(null, work(true))).body, "2");
  assertEquals((await cache.answer("a", work(false))).body, "3");
  assertEquals((await cache.answer("a", work(false))).body, "4");
});

Deno.test("of answers that are kept the oldest goes, and the last one never", async () => {
  const cache = new ReplayCache();
  const put = (id: string, body: string) => cache.answer(id, () => Promise.resolve(answer(body)));
  const long = "x".repeat(20 << 20);
  await put("a", long);
  await put("b", long + long);
  assertEquals((await put("b", "new")).body.length, 40 << 20);
  assertEquals((await put("a", "new")).body, "new");
});
