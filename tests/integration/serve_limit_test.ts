/** Tests of a server whose sandboxes are at their limits while programs are started in them. */
import { assertEquals } from "@std/assert";
import { PYTHON } from "../support/attack.ts";
import { identity } from "../support/identity.ts";
import { type RunAnswer, TestServer } from "../support/rpc_client.ts";

/** So much less than the server has itself: what shares its memory would be ended first. */
const MEMORY_BYTES = 64 << 20;

/** Makes processes that take memory, for as long as it is let. */
const HOG = `
import os, time
while True:
    try:
        if os.fork() == 0:
            bytearray(8 << 20)
            time.sleep(60)
            os._exit(0)
    except OSError:
        pass
    try:
        while os.waitpid(-1, os.WNOHANG)[0]: pass
    except ChildProcessError:
        pass
`;

/** How many programs are started meanwhile, and how many at once. */
const STARTS = 240;
const AT_ONCE = 8;

Deno.test({
  name: "a sandbox at the end of its memory takes none of the server's processes with it",
  ignore: identity() === "single", // no cgroup counts its memory
  fn: async () => {
    await using server = new TestServer();
    const sandbox = await server.create({ limits: { memoryBytes: MEMORY_BYTES, pids: 64 } });
    const neighbour = await server.create();
    await server.call("process.start", { sandbox, command: [PYTHON, "-c", HOG] });
    for (let i = 0; i < STARTS; i += AT_ONCE) {
      const runs = Array.from(
        { length: AT_ONCE },
        () =>
          server.call<RunAnswer>("process.run", {
            sandbox,
            command: ["/bin/true"],
            timeoutMs: 5000,
          }),
      );
      // What comes of them is the sandbox's own affair: most are ended for want of memory.
      await Promise.allSettled(runs);
      const { stdout } = await server.run(neighbour, "echo alive");
      assertEquals(stdout.text, "alive\n");
    }
    assertEquals(await server.call("sandbox.close", { sandbox }), { closed: true });
  },
});

Deno.test("as many programs as may be are started at once, and none is refused", async () => {
  await using server = new TestServer();
  const sandbox = await server.create({ limits: { pids: 16 } });
  const runs = Array.from(
    { length: 14 },
    () => server.call<RunAnswer>("process.run", { sandbox, command: ["/bin/sleep", "0.5"] }),
  );
  for (const { outcome } of await Promise.all(runs)) {
    assertEquals([outcome.kind, outcome.code, outcome.reached], ["exited", 0, []]);
  }
});
