/** What others on the node notice: a sandbox that runs, and sandboxes that are started. */
import { delay } from "@std/async/delay";
import { run } from "./context.ts";
import { PROGRAM } from "./peer/minisandbox.ts";

/** Between starts, so that measuring is not a load by itself. */
const PAUSE_MS = 300;

/** Writes a file of 64 KiB to disk and reads it, again and again, and prints the microseconds. */
const COMMAND = `echo ready
while :; do
  begin=$EPOCHREALTIME
  dd if=/dev/zero of=/root/file bs=64k count=1 2>/dev/null && cat /root/file >/dev/null
  end=$EPOCHREALTIME
  echo $((\${end/./} - \${begin/./}))
  sleep 0.05
done`;

/** Measures until it is ended. */
export class Neighbour implements AsyncDisposable {
  readonly #store: string;
  readonly #child: Deno.ChildProcess;
  readonly #output: Promise<string>;
  readonly #starts: Promise<number[]>;
  #isEnded = false;

  private constructor(store: string, child: Deno.ChildProcess, output: Promise<string>) {
    this.#store = store;
    this.#child = child;
    this.#output = output;
    this.#starts = this.#start();
  }

  /** Starts it, and waits until it measures. */
  static async open(store: string): Promise<Neighbour> {
    await run([PROGRAM, "run", "--quiet", "--store", store, "--", "true"]); // prepares the base
    const child = new Deno.Command(PROGRAM, {
      args: ["run", "--quiet", "--store", store, "--", "bash", "-c", COMMAND],
      stdin: "null",
      stdout: "piped",
    }).spawn();
    const [first, rest] = child.stdout.tee();
    const reader = first.getReader();
    await reader.read();
    void reader.cancel();
    return new Neighbour(store, child, new Response(rest).text());
  }

  /** Ends it, and gives the milliseconds of its commands and of the starts. */
  async end(): Promise<{ readonly command: number[]; readonly start: number[] }> {
    this.#isEnded = true;
    const start = await this.#starts;
    this.#child.kill("SIGTERM");
    await this.#child.status;
    const lines = (await this.#output).trimEnd().split("\n").slice(1);
    return { command: lines.map((us) => Number(us) / 1000), start };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isEnded) await this.end();
  }

  async #start(): Promise<number[]> {
    const times: number[] = [];
    while (!this.#isEnded) {
      const begin = performance.now();
      await run([PROGRAM, "run", "--quiet", "--store", this.#store, "--", "true"]);
      times.push(performance.now() - begin);
      await delay(PAUSE_MS);
    }
    return times;
  }
}
