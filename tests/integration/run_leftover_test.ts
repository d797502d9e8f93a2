/** Tests that runs leave nothing on the host: no process, mount, directory, cgroup or interface. */
import { assertEquals } from "@std/assert";
import { packFiles } from "../support/archive.ts";
import { assertNothingLeft, bash, minisandbox, start } from "../support/minisandbox.ts";
import { readUntil } from "../support/read_until.ts";
import { tempDir } from "../support/temp_dir.ts";

/** What of this host a run could leave, as far as it is ours. */
function traces(dir: string): Record<string, string[]> {
  const mounts = Deno.readTextFileSync("/proc/self/mountinfo").split("\n");
  return {
    processes: [...Deno.readDirSync("/proc")].flatMap(({ name }) => {
      if (!/^\d+$/.test(name)) return [];
      try {
        const env = Deno.readTextFileSync(`/proc/${name}/environ`);
        const line = Deno.readTextFileSync(`/proc/${name}/cmdline`);
        return env.includes(dir) || line.includes(dir) ? [line] : [];
      } catch {
        return []; // it has ended, or is another's
      }
    }),
    mounts: mounts.filter((line) => line.includes(dir)),
    interfaces: [...Deno.readDirSync("/sys/class/net")].map(({ name }) => name).sort(),
  };
}

Deno.test("runs of every kind of end leave nothing behind", async () => {
  using temp = tempDir();
  const archive = await packFiles(temp.path, "x.tar.gz", { "d/f": "x" });
  const layer = ["-l", `${archive}:/opt/x`];
  await bash("true", layer); // the store's own files are made by now
  const before = traces(temp.path);
  await Promise.all([
    bash("exit 3", layer),
    bash("kill -9 $$", layer),
    bash("sleep 600 & setsid sleep 600 & rm -rf /opt/x /usr/share/perl5", layer),
    bash("chmod -R 000 /opt/x; mkdir -p /opt/a/b && chmod 000 /opt/a", layer),
    bash("exec sleep 600", [...layer, "--timeout", "0.7"]),
    minisandbox(["run", ...layer, "--", "no-such-command"]),
    minisandbox(["run", ...layer, "-w", "/no/such", "--", "true"]),
    minisandbox(["run", ...layer, "--network", "host", "--upper", "tmpfs", "--", "true"]),
    minisandbox(["run", ...layer, "-t", "--", "bash", "-c", "exit 1"]),
  ]);
  assertEquals(traces(temp.path), before);
  assertNothingLeft();
});

Deno.test("an interrupted run leaves nothing behind", async () => {
  using temp = tempDir();
  const before = traces(temp.path);
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    const script = "mkdir /opt/x; sleep 600 & echo ready; exec sleep 600";
    const args = ["run", "--quiet", "-e", `T=${temp.path}`, "--", "bash", "-c", script];
    const child = start(args);
    const reader = child.stdout.getReader();
    await readUntil(reader, "ready");
    child.kill(signal);
    await child.status;
    reader.releaseLock();
    await Promise.all([child.stdin.close(), child.stdout.cancel(), child.stderr.cancel()]);
  }
  assertEquals(traces(temp.path), before);
  assertNothingLeft();
});

Deno.test("a signal while a layer is unpacked ends the run, and leaves nothing behind", async () => {
  using temp = tempDir();
  const big = Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [`d${i}/f`, "x"]));
  const archive = await packFiles(temp.path, "x.tar.gz", big);
  const child = start(["run", "-l", `${archive}:/opt/x`, "--", "true"]);
  const reader = child.stderr.getReader();
  await readUntil(reader, "unpacking");
  child.kill("SIGTERM");
  const { code } = await child.status;
  reader.releaseLock();
  await Promise.all([child.stdin.close(), child.stdout.cancel(), child.stderr.cancel()]);
  assertEquals(code, 128 + 15);
  assertNothingLeft();
});
