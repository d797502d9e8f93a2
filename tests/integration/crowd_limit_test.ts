/** Tests that the host and the neighbours stay usable while many sandboxes use all they can get. */
import { assertEquals, assertLess } from "@std/assert";
import { minisandbox, start } from "../support/minisandbox.ts";
import { PYTHON } from "../support/attack.ts";
import { findCgroups } from "../support/outcome.ts";
import { identity } from "../support/identity.ts";

/** How many of each kind there are at once. */
const COUNT = 10;

/** How often the host and a neighbour are asked meanwhile, and how long an answer may take. */
const QUESTIONS = 3;
const ANSWER_MS = 10_000;

/** No hog is left to itself for longer. */
const SECONDS = 60;

/** Where there are cgroups, hogs have less weight than others. */
const SHARE = identity() === "single" ? [] : ["--cpu-weight", "10"];

/** Programs that take what they can, each with the limit that holds it. */
const HOGS: Readonly<Record<string, readonly [args: readonly string[], script: string]>> = {
  processes: [["--pids", "48"], "bomb() { bomb | bomb & }; bomb; exec sleep 60"],
  memory: identity() === "single"
    ? [["--shm-size", "8M"], "while :; do head -c 64M /dev/zero >/dev/shm/x; done"]
    : [["--memory", "24M"], `while :; do ${PYTHON} -c 'bytearray(1 << 28)'; done`],
  disk: [["--upper", "tmpfs", "--disk", "8M"], "while :; do head -c 64M /dev/zero >/root/x; done"],
  descriptors: [
    ["--nofile", "256"],
    `exec ${PYTHON} -c '
import os, signal
try:
    while True: os.open("/dev/null", 0)
except OSError: signal.pause()'`,
  ],
  output: [["--output", "1M"], "exec yes"],
};

Deno.test("ten of each hog at once leave the host and a neighbour usable", async () => {
  const hogs = Object.values(HOGS).flatMap(([args, script]) =>
    Array.from({ length: COUNT }, () => new Hog([...args, ...SHARE], script))
  );
  for (const hog of hogs) await hog.begun;

  const slowest = { neighbour: 0, host: 0 };
  for (let i = 0; i < QUESTIONS; i++) {
    const start = performance.now();
    const { code, stdout } = await minisandbox(["run", "--quiet", "--", "echo", "alive"]);
    assertEquals([code, stdout], [0, "alive\n"]);
    const between = performance.now();
    assertEquals((await new Deno.Command("true").output()).success, true);
    slowest.neighbour = Math.max(slowest.neighbour, between - start);
    slowest.host = Math.max(slowest.host, performance.now() - between);
  }

  const codes = await Promise.all(hogs.map((hog) => hog.end()));
  console.log(`slowest answer: ${JSON.stringify(slowest)} ms`);
  assertEquals(codes.filter((code) => code !== TERMINATED && code !== OUTPUT_LIMIT), []);
  assertLess(slowest.neighbour, ANSWER_MS);
  assertLess(slowest.host, ANSWER_MS);
});

/** Exit codes of a run that was told to end, and of one that printed too much. */
const TERMINATED = 128 + 15;
const OUTPUT_LIMIT = 128 + 9;

/** A run that takes what it can; what it prints is read as fast as it comes. */
class Hog {
  /** Resolves when its program has begun. */
  readonly begun: Promise<void>;
  readonly #child: Deno.ChildProcess;
  readonly #drained: Promise<unknown>;

  constructor(args: readonly string[], script: string) {
    const limits = [...args, "--timeout", String(SECONDS)];
    const command = ["bash", "-c", `echo begun; (${script}) 2>/dev/null`];
    this.#child = start(["run", "--quiet", ...limits, "--", ...command]);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.begun = promise;
    promise.catch(() => {}); // told where it is waited for
    const { stdin, stdout, stderr } = this.#child;
    this.#drained = Promise.all([
      stdin.close(),
      stdout.pipeTo(new WritableStream({ write: () => resolve() })),
      new Response(stderr).text(),
    ]).then(([, , text]) => reject(new Error(text))); // unless it has begun
  }

  /** Ends it, if it has not ended, and gives its exit code. */
  async end(): Promise<number> {
    try {
      this.#child.kill("SIGTERM");
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // it has ended
    }
    await this.#drained;
    const { code } = await this.#child.status;
    assertEquals(findCgroups(this.#child.pid), [], "cgroups that are left");
    return code;
  }
}
