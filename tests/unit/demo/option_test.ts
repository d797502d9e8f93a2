import { assertEquals, assertThrows } from "@std/assert";
import { parseOptions } from "../../../demo/option.ts";
import { toBindPrefix } from "../../../demo/python.ts";
import { readTasks, sdistOf, sourceRoot } from "../../../demo/task.ts";
import { UsageError } from "../../../src/errors.ts";

Deno.test("parseOptions() takes the program from the environment", () => {
  const options = parseOptions(["--json", "--count", "4", "--folder", "/tmp/x"], "/opt/m");
  assertEquals(options, {
    json: true,
    help: false,
    keep: false,
    count: 4,
    folder: "/tmp/x",
    pythons: ["/usr/bin/python3", "python3"],
    binary: "/opt/m",
  });
});

Deno.test("parseOptions() refuses unknown options and counts that are none", () => {
  assertThrows(() => parseOptions(["--cuont", "4"], "/m"), UsageError);
  assertThrows(() => parseOptions(["extra"], "/m"), UsageError);
  assertThrows(() => parseOptions(["--count", "0"], "/m"), UsageError);
  assertThrows(() => parseOptions(["--count"], "/m"), UsageError);
});

Deno.test("toBindPrefix() names only what a sandbox over the host's /usr lacks", () => {
  const prefixes = ["/usr", "/usr/local", "/opt/python", "/usr2"];
  assertEquals(prefixes.map(toBindPrefix), [null, null, "/opt/python", "/usr2"]);
});

Deno.test("every task of the demo knows both archives and tests that fail before the fix", async () => {
  const tasks = await readTasks();
  assertEquals(tasks.length, 3);
  for (const task of tasks) {
    for (const version of [task.base, task.fixed]) {
      assertEquals(sdistOf(task, version).file, `${task.name}-${version}.tar.gz`);
    }
    assertEquals(task.failToPass.length > 0, true);
    assertEquals(sourceRoot(task), task.src[0] === "src" ? "/testbed/src" : "/testbed");
  }
});
