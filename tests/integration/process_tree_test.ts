/** Tests of ending a program with all that belongs to it, and nothing else, in a live engine. */
import { assertEquals } from "@std/assert";
import type { Process, Sandbox } from "../../src/sandbox/mod.ts";
import { command, LiveEngine, readAll, silent, startReading } from "../support/live_engine.ts";
import { sharedStore } from "../support/minisandbox.ts";

/** Starts a shell, and returns once it has said that all it makes is there. */
async function startTree(sandbox: Sandbox, script: string): Promise<Process> {
  const { process, output } = await startReading(sandbox, command("bash", "-c", script));
  for await (const chunk of output) {
    if (new TextDecoder().decode(chunk).includes("ready")) break;
  }
  return process;
}

async function countSleeps(sandbox: Sandbox): Promise<number> {
  const { process, output } = await startReading(
    sandbox,
    command("bash", "-c", "cat /proc/[0-9]*/comm | grep -cx sleep; :"),
  );
  const count = Number(await readAll(output));
  await process.wait();
  return count;
}

Deno.test("endTree() ends children, sessions of their own and orphans, and no neighbour", async () => {
  using engine = await LiveEngine.open(sharedStore());
  await using sandbox = await engine.create();
  const neighbour = await startTree(sandbox, "sleep 1000 & setsid sleep 1000 & echo ready; wait");
  const doomed = await startTree(
    sandbox,
    `sleep 1000 & (sleep 1000 &)
    setsid sh -c 'sleep 1000 & sleep 1000' & (setsid sh -c 'sleep 1000 & exec sleep 1000' &)
    until [ "$(cat /proc/[0-9]*/comm | grep -cx sleep)" = 8 ]; do :; done
    echo ready; wait`,
  );
  assertEquals(await countSleeps(sandbox), 8);

  await sandbox.endTree(doomed);
  const { signal } = await doomed.wait();
  assertEquals(signal, 9);
  assertEquals(await countSleeps(sandbox), 2);

  await sandbox.endTree(neighbour);
  await neighbour.wait();
  assertEquals(await countSleeps(sandbox), 0);
});

Deno.test("endTree() ends what makes processes faster than they can be found", async () => {
  using engine = await LiveEngine.open(sharedStore());
  await using sandbox = await engine.create();
  const bomb = await startTree(sandbox, "f() { f & f & }; echo ready; f 2>/dev/null; wait");
  await sandbox.endTree(bomb);
  await bomb.wait();
  const { process, output } = await startReading(
    sandbox,
    // Init still reaps some of the dead.
    command(
      "bash",
      "-c",
      "while set /proc/[0-9]*; (($# > 2 && SECONDS < 20)); do :; done; echo $#",
    ),
  );
  assertEquals(await readAll(output), "2\n"); // init and this
  await process.wait();
});

Deno.test("endAll() ends all but init, and programs can be started afterwards", async () => {
  using engine = await LiveEngine.open(sharedStore());
  await using sandbox = await engine.create();
  const first = await startTree(sandbox, "trap '' TERM INT; echo ready; sleep 1000");
  const second = await sandbox.start(command("sleep", "1000"), silent());
  await sandbox.endAll();
  assertEquals([(await first.wait()).signal, (await second.wait()).signal], [9, 9]);
  assertEquals(await countSleeps(sandbox), 0);
});
