/** Tests of the cgroups below which those of sandboxes are made, on directories that look like them. */
import { assertEquals, assertThrows } from "@std/assert";
import { CgroupParent } from "../../src/sandbox/cgroup/parent.ts";
import { HostError } from "../../src/errors.ts";
import { tempDir } from "../support/temp_dir.ts";

/** Makes a directory with the files of a cgroup of version 2. */
function unified(dir: string, controllers: string, enabled: string): string {
  Deno.mkdirSync(dir, { recursive: true });
  Deno.writeTextFileSync(`${dir}/cgroup.controllers`, `${controllers}\n`);
  Deno.writeTextFileSync(`${dir}/cgroup.subtree_control`, `${enabled}\n`);
  return dir;
}

const names = (dir: string) => [...Deno.readDirSync(dir)].map(({ name }) => name).sort();

Deno.test("CgroupParent uses each hierarchy of version 1, and leaves nothing of its try", () => {
  using temp = tempDir();
  const parent = new CgroupParent({ unified: null, legacy: { memory: temp.path } });
  assertEquals(parent.find("memory"), { version: 1, dir: temp.path });
  assertEquals(parent.find("pids"), null);
  assertEquals(names(temp.path), []);
});

Deno.test("CgroupParent uses the unified hierarchy where controllers are enabled", () => {
  using temp = tempDir();
  const dir = unified(`${temp.path}/a`, "io memory pids", "memory pids");
  const parent = new CgroupParent({ unified: dir, legacy: {} });
  assertEquals(parent.find("memory"), { version: 2, dir });
  assertEquals(parent.find("pids"), { version: 2, dir });
});

Deno.test("CgroupParent stands beside its own cgroup where only that above gives controllers", () => {
  using temp = tempDir();
  const above = unified(`${temp.path}/a`, "memory pids", "memory pids");
  const dir = unified(`${above}/tests`, "", "");
  const parent = new CgroupParent({ unified: dir, legacy: {} });
  assertEquals(parent.find("memory"), { version: 2, dir: above });
  assertEquals(parent.find("cpu"), null);
});

Deno.test("CgroupParent prefers version 1 for a controller that has it", () => {
  using temp = tempDir();
  Deno.mkdirSync(`${temp.path}/one`);
  const two = unified(`${temp.path}/two`, "pids", "pids");
  const parent = new CgroupParent({ unified: two, legacy: { memory: `${temp.path}/one` } });
  assertEquals(parent.find("memory")?.version, 1);
  assertEquals(parent.find("pids")?.version, 2);
});

Deno.test("CgroupParent says which limit cannot be had, why, and what to do", () => {
  using temp = tempDir();
  const parent = new CgroupParent({ unified: null, legacy: { cpu: `${temp.path}/missing` } });
  assertEquals(
    assertThrows(() => parent.need("memory", "memory"), HostError).message,
    'Cannot limit memory: no cgroup of this host has "memory". Start minisandbox in a cgroup that ' +
      "is delegated to you, such as by: systemd-run --user --scope -p Delegate=yes minisandbox …; " +
      "see minisandbox doctor.",
  );
  assertThrows(() => parent.need("cpu", "processors"), HostError, "Cannot limit processors: ");
});

Deno.test("CgroupParent removes the cgroups of processes that are gone, and only those", async () => {
  using temp = tempDir();
  const gone = new Deno.Command("true").spawn();
  await gone.status;
  const kept = [`minisandbox-${Deno.pid}-7`, "minisandbox-ci-user", "other"];
  for (const name of [...kept, `minisandbox-${gone.pid}-1`, `minisandbox-${gone.pid}-try`]) {
    Deno.mkdirSync(`${temp.path}/${name}`);
  }
  new CgroupParent({ unified: null, legacy: { pids: temp.path } });
  assertEquals(names(temp.path), kept.sort());
});

Deno.test("CgroupParent gives each sandbox a name of its own", () => {
  const parent = new CgroupParent({ unified: null, legacy: {} });
  assertEquals(parent.nextName(), `minisandbox-${Deno.pid}-1`);
  assertEquals(parent.nextName(), `minisandbox-${Deno.pid}-2`);
});
