/** A bash that is driven by pexpect, by its prompt, as agents commonly do. */
import { TextLineStream } from "@std/streams/text-line-stream";

/** One line in is one round; one line out is how many milliseconds each command of it took. */
const SCRIPT = `
import json, sys, time, pexpect
delay, count = json.loads(sys.argv[1]), int(sys.argv[2])
child = pexpect.spawn("bash", ["--norc", "--noprofile"], echo=False, env={"TERM": "dumb", "PATH": "/usr/bin:/bin"})
child.delaybeforesend = delay
child.sendline("PS1=PEXPECT_PROMPT_; PS2=; bind 'set enable-bracketed-paste off' 2>/dev/null")
child.expect_exact("PEXPECT_PROMPT_")
print("[]", flush=True)
for _ in sys.stdin:
    times = []
    for _ in range(count):
        begin = time.perf_counter()
        child.sendline("echo hi")
        child.expect_exact("PEXPECT_PROMPT_")
        times.append((time.perf_counter() - begin) * 1e3)
        assert child.before == b"hi\\r\\n", child.before
    print(json.dumps(times), flush=True)
`;

/** A Python that has pexpect, with a bash. */
export class PexpectPeer implements AsyncDisposable {
  readonly #process: Deno.ChildProcess;
  readonly #input: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>>;
  readonly #lines: ReadableStreamDefaultReader<string>;

  private constructor(process: Deno.ChildProcess) {
    this.#process = process;
    this.#input = process.stdin.getWriter();
    this.#lines = process.stdout.pipeThrough(new TextDecoderStream())
      .pipeThrough(new TextLineStream()).getReader();
  }

  /**
   * Starts it.
   *
   * @param delay What pexpect waits before each line, in seconds: 0.05, or null for nothing.
   * @throws {Error} If this Python has no pexpect.
   */
  static async open(python: string, delay: number | null, count: number): Promise<PexpectPeer> {
    const process = new Deno.Command(python, {
      args: ["-c", SCRIPT, JSON.stringify(delay), String(count)],
      stdin: "piped",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    const peer = new PexpectPeer(process);
    if ((await peer.#lines.read()).done) {
      await peer[Symbol.asyncDispose]();
      throw new Error(`${python} has no pexpect`);
    }
    return peer;
  }

  /** Runs one round, and gives the milliseconds of each command. */
  async round(): Promise<number[]> {
    await this.#input.write(new TextEncoder().encode("\n"));
    const { value } = await this.#lines.read();
    return JSON.parse(value!);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#input.close().catch(() => {});
    await this.#process.status;
    await this.#lines.cancel();
  }
}
