/** Tests of `run --outcome`: how a command ended, as JSON. */
import { assert, assertEquals } from "@std/assert";
import { bash, minisandbox } from "../support/minisandbox.ts";
import { tempDir } from "../support/temp_dir.ts";

interface OutcomeFile {
  readonly kind: string;
  readonly code: number | null;
  readonly signal: string | null;
  readonly error: { readonly class: string; readonly message: string } | null;
  readonly phases: Readonly<Record<string, number>>;
  readonly cpuMs: number;
  readonly peakMemoryBytes: number | null;
}

const read = (path: string): OutcomeFile => JSON.parse(Deno.readTextFileSync(path));
const PHASES = ["store", "holder", "base", "unpack", "namespaces", "create", "start", "program"];

Deno.test("--outcome tells of a success, with every phase and what it used", async () => {
  using temp = tempDir();
  const file = `${temp.path}/outcome.json`;
  const burn = "python3 -c 'x = bytearray(200 << 20); sum(range(2_000_000))'";
  assertEquals((await bash(burn, ["--outcome", file])).code, 0);
  const { kind, code, signal, error, phases, cpuMs, peakMemoryBytes } = read(file);
  assertEquals([kind, code, signal, error], ["exited", 0, null, null]);
  assertEquals(Object.keys(phases), [...PHASES, "close"]);
  assert(Object.values(phases).every((ms) => ms >= 0));
  assert(cpuMs > 0);
  assert(peakMemoryBytes! > 200 << 20);
});

Deno.test("--outcome tells of a code, of a signal, and of a time-out", async () => {
  using temp = tempDir();
  const file = `${temp.path}/outcome.json`;
  const outcome = async (script: string, ...args: string[]) => {
    await bash(script, [`--outcome=${file}`, ...args]);
    const { kind, code, signal, error } = read(file);
    return [kind, code, signal, error];
  };
  assertEquals(await outcome("exit 7"), ["exited", 7, null, null]);
  assertEquals(await outcome("kill -SEGV $$"), ["signaled", null, "SIGSEGV", null]);
  assertEquals(await outcome("exec sleep 600", "--timeout", "1"), ["timedOut", null, null, null]);
});

Deno.test("--outcome tells of our own failure, and of the phases until then", async () => {
  using temp = tempDir();
  const file = `${temp.path}/outcome.json`;
  const failure = async (...args: string[]) => {
    const { code } = await minisandbox(["run", "--outcome", file, ...args]);
    return [code, read(file)] as const;
  };
  const [missing, command] = await failure("--", "no-such-command");
  assertEquals([missing, command.kind, command.code], [127, "failed", null]);
  assertEquals(command.error!.class, "CommandError");
  assertEquals(Object.keys(command.phases), PHASES.slice(0, 6));
  const [, workdir] = await failure("-w", "/no/such", "--", "true");
  assertEquals(workdir.error!.class, "SetupError");
  const [, layer] = await failure("-l", "/no/such.tar:/opt/x", "--", "true");
  assertEquals(layer.error!.class, "NotFoundError");
  const [, usage] = await failure("--no-such-option", "--", "true");
  assertEquals([usage.error!.class, usage.phases], ["UsageError", {}]);
  const [, spec] = await failure("--spec", "/no/such", "--", "true");
  assertEquals(spec.error!.class, "NotFoundError");
});

Deno.test("an outcome's message is the line on stderr", async () => {
  using temp = tempDir();
  const file = `${temp.path}/outcome.json`;
  const { stderr } = await minisandbox(["run", "--outcome", file, "--network", "x", "--", "true"]);
  assertEquals(stderr, `minisandbox: ${read(file).error!.message}\n`);
});

Deno.test("an outcome that cannot be written is an error before anything is done", async () => {
  const { code, stdout, stderr } = await bash("echo done", ["--outcome", "/no/such/outcome.json"]);
  assertEquals([code, stdout, stderr.split("\n").length], [125, "", 2]);
});
