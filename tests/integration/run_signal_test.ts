/** Tests of signals on their way to a command, and of its end by time-out. */
import { assertEquals } from "@std/assert";
import { bash, minisandbox, start } from "../support/minisandbox.ts";
import { readUntil } from "../support/read_until.ts";

/** Starts a script that says "ready", sends us signals then, and gives how it came out. */
async function signalled(
  script: string,
  ...signals: readonly Deno.Signal[]
): Promise<{ code: number; stdout: string }> {
  const child = start(["run", "--quiet", "--", "bash", "-c", script]);
  const reader = child.stdout.getReader();
  let stdout = await readUntil(reader, "ready\n");
  for (const [i, signal] of signals.entries()) {
    if (i > 0) stdout += await readUntil(reader, "\n"); // one at a time: equal signals are one
    child.kill(signal);
  }
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
    stdout += new TextDecoder().decode(chunk.value);
  }
  const { code } = await child.status;
  await Promise.all([child.stdin.close(), child.stderr.cancel()]);
  return { code, stdout };
}

/** Waits in bash's own words: a child would have to be ended too. */
const WAIT = "while :; do read -t 0.02 < /dev/zero; done";

Deno.test("signals go on to the command, which may catch them", async () => {
  for (const name of ["TERM", "INT", "HUP", "QUIT", "USR1", "USR2"] as const) {
    const script = `trap 'echo caught; exit 3' ${name}; echo ready; ${WAIT}`;
    const { code, stdout } = await signalled(script, `SIG${name}`);
    assertEquals([name, code, stdout], [name, 3, "ready\ncaught\n"]);
  }
});

Deno.test("a command that does not catch a signal ends by it, and run says so", async () => {
  for (const [name, number] of [["SIGTERM", 15], ["SIGINT", 2], ["SIGHUP", 1]] as const) {
    assertEquals((await signalled("echo ready; exec sleep 600", name)).code, 128 + number);
  }
});

Deno.test("the third SIGINT ends a command that ignores them", async () => {
  const script = `trap 'echo heard' INT; echo ready; ${WAIT}`;
  const { code, stdout } = await signalled(script, "SIGINT", "SIGINT", "SIGINT");
  assertEquals([code, stdout.startsWith("ready\nheard\nheard\n")], [130, true]);
});

Deno.test("a command begins with no signal ignored, blocked or caught, whatever our parent ignores", async () => {
  const ignoring = '$SIG{$_} = "IGNORE" for qw(PIPE USR1 HUP TSTP CHLD WINCH); exec @ARGV';
  const { code, stdout } = await minisandbox(["run", "--quiet", "--", "cat", "/proc/self/status"], {
    under: ["perl", "-e", ignoring],
  });
  assertEquals(code, 0);
  assertEquals(stdout.match(/^Sig(Blk|Ign|Cgt):\s*0+$/gm)?.length, 3);
});

Deno.test("a time-out ends all that a command started", async () => {
  const marker = `6${Math.floor(Math.random() * 1e6)}`;
  const script =
    `setsid sleep ${marker} & (trap '' TERM INT; sleep ${marker}) & exec sleep ${marker}`;
  const { code } = await bash(script, ["--timeout", "0.8"]);
  assertEquals(code, 124);
  assertEquals(await processesOf(marker), []);
});

Deno.test("nothing that a command started outlives it", async () => {
  const marker = `7${Math.floor(Math.random() * 1e6)}`;
  const { code } = await bash(`for i in 1 2 3; do setsid sleep ${marker} & done; exit 5`);
  assertEquals(code, 5);
  assertEquals(await processesOf(marker), []);
});

Deno.test("a time-out longer than the command changes nothing", async () => {
  assertEquals((await bash("exit 4", ["--timeout", "3600"])).code, 4);
});

/** The command lines on this host that hold a text. */
async function processesOf(text: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { name } of Deno.readDir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const line = await Deno.readTextFile(`/proc/${name}/cmdline`).catch(() => "");
    if (line.split("\0").includes(text)) found.push(line);
  }
  return found;
}
