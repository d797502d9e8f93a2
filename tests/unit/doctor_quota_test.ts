/** Tests of what doctor makes of quotas, against the number of sandboxes that are wanted. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import {
  judgeInotify,
  judgeKeys,
  judgeOpenFiles,
  judgePtys,
  parseKeyUsers,
} from "../../src/app/doctor/quota.ts";
import { judgeProcesses } from "../../src/app/doctor/process_room.ts";

Deno.test("open files are measured by what is needed", () => {
  assertEquals(judgeOpenFiles(1024, 64).status, "PASS");
  const { status, lost, remedy } = judgeOpenFiles(1024, 256);
  assertEquals([status, lost], ["CAUTION", "No more than 128 sandboxes at once in one process."]);
  assertStringIncludes(remedy!, "ulimit -Hn 1920 as root");
});

Deno.test("processes are measured by what leaves the least room", () => {
  const room = (by: string, free: number) => ({ by, free, remedy: `raise ${by}` });
  assertEquals(judgeProcesses([], 64).status, "SKIPPED");
  assertEquals(judgeProcesses([room("a", 512), room("b", 9999)], 64).status, "PASS");
  const { status, found, remedy } = judgeProcesses([room("a", 9999), room("b", 511)], 64);
  assertEquals([status, remedy], ["CAUTION", "raise b"]);
  assertEquals(found, "511 more by b; 64 sandboxes of 8 each need 512");
});

Deno.test("keys are read for one user, and count for each process of ours", () => {
  const text = "    0:     9 8/8 3/1000000 40/25000000\n 1000:    12 11/11 190/200 700/20000\n";
  assertEquals(parseKeyUsers(text, 1000), { used: 190, max: 200 });
  assertEquals(parseKeyUsers(text, 0), { used: 3, max: 1_000_000 });
  assertEquals(parseKeyUsers(text, 100), null);
  assertEquals(judgeKeys(null, 1).status, "SKIPPED");
  assertEquals(judgeKeys({ used: 190, max: 200 }, 10).status, "PASS");
  const { status, lost, remedy } = judgeKeys({ used: 190, max: 200 }, 11);
  assertEquals([status, remedy], ["CAUTION", "sysctl -w kernel.keys.maxkeys=310"]);
  assertStringIncludes(lost!, "more than 10 processes");
});

Deno.test("inotify instances are for all sandboxes of a user together", () => {
  assertEquals(judgeInotify(null, 1).status, "SKIPPED");
  assertEquals(judgeInotify(128, 128).status, "PASS");
  const { status, remedy } = judgeInotify(128, 129);
  assertEquals([status, remedy], ["CAUTION", "sysctl -w fs.inotify.max_user_instances=1032"]);
});

Deno.test("terminals are those that are not in use, and not kept back for the host", () => {
  assertEquals(judgePtys({ max: null, reserve: 0, used: 0 }, 1).status, "SKIPPED");
  assertEquals(judgePtys({ max: 4096, reserve: 1024, used: 72 }, 3000).status, "PASS");
  const { status, lost, remedy } = judgePtys({ max: 4096, reserve: 1024, used: 73 }, 3000);
  assertEquals([status, remedy], ["CAUTION", "sysctl -w kernel.pty.max=7096"]);
  assertEquals(lost, "No more than 2999 terminals at once, by --tty or inside.");
});
