/** Tests of the moment in which nothing changes: who waits for whom, and what a cgroup is told. */
import { assertEquals } from "@std/assert";
import { freezeByCgroup } from "../../src/sandbox/freeze.ts";
import { Quiet } from "../../src/sandbox/quiet.ts";
import { tempDir } from "../support/temp_dir.ts";

Deno.test("a quiet moment waits for what is being done, and what comes next waits for it", async () => {
  const quiet = new Quiet();
  const told: string[] = [];
  const { promise: first, resolve: finish } = Promise.withResolvers<void>();
  const working = quiet.work(async () => {
    await first;
    told.push("first");
  });
  const beginning = quiet.begin().then((end) => {
    told.push("quiet");
    return end;
  });
  const next = quiet.work(() => {
    told.push("next");
    return Promise.resolve();
  });
  finish();
  const end = await beginning;
  await working;
  assertEquals(told, ["first", "quiet"]);
  end();
  await next;
  assertEquals(told, ["first", "quiet", "next"]);
});

Deno.test("one quiet moment follows the other, and a failure ends no other's", async () => {
  const quiet = new Quiet();
  const first = await quiet.begin();
  const second = quiet.begin();
  first();
  (await second)();
  const failed = await quiet.work(() => Promise.reject(new Error("no"))).catch(() => "failed");
  assertEquals(failed, "failed");
  (await quiet.begin())();
});

Deno.test("a cgroup is told to stop its processes, and to let them go on", async () => {
  using temp = tempDir();
  const read = () => Deno.readTextFileSync(`${temp.path}/cgroup.freeze`);
  Deno.writeTextFileSync(`${temp.path}/cgroup.events`, "populated 1\nfrozen 1\n");
  const thaw = await freezeByCgroup(temp.path);
  assertEquals(read(), "1");
  thaw();
  assertEquals(read(), "0");
});
