/** Our own stdin, stdout and stderr joined to those of a command, byte for byte. */
import { HostError, messageOf } from "../errors.ts";
import type { RunningCommand } from "../app/run.ts";
import { signalNumber } from "../app/signal.ts";
import type { Wires } from "../app/wire.ts";
import { Interrupted } from "./interrupted.ts";

/** Signals that go on to the command. */
export const FORWARDED = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"] as const;

/** So many of these end a command that will not listen. */
const INSISTENCE = 3;

/** Carries signals and data between us and a command. */
export class Relay implements Disposable {
  readonly #abort = new AbortController();
  readonly #listeners: [Deno.Signal, () => void][] = [];
  readonly #isTerminal: boolean;
  #command: RunningCommand | undefined;
  #outputs: Promise<void>[] = [];
  #interrupts = 0;
  #isRaw = false;
  #lost: HostError | null = null;

  /** Begins to listen to signals: before the command runs they end the preparation. */
  constructor(isTerminal: boolean) {
    this.#isTerminal = isTerminal;
    for (const name of FORWARDED) this.#listen(name, () => this.#onSignal(name));
    if (isTerminal) this.#listen("SIGWINCH", () => this.#command?.wires.resize(windowSize()));
  }

  /** Aborted by a signal before the command runs, or by insistence. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Joins the command's streams with ours. */
  start(command: RunningCommand): void {
    this.#command = command;
    const { stdin, stdout, stderr } = command.wires;
    // It runs already: our size may have changed since it was told.
    if (this.#isTerminal) command.wires.resize(windowSize());
    if (this.#isTerminal && stdin !== null && Deno.stdin.isTerminal()) {
      Deno.stdin.setRaw(true);
      this.#isRaw = true;
    }
    this.#outputs = [
      this.#pass(stdout, "stdout"),
      ...(stderr ? [this.#pass(stderr, "stderr")] : []),
    ];
    if (stdin !== null) void feed(stdin);
  }

  /**
   * Resolves when all that the command wrote has been passed on.
   *
   * @throws {HostError} If it could not be.
   */
  async finish(): Promise<void> {
    await Promise.all(this.#outputs);
    if (this.#lost !== null) throw this.#lost;
  }

  /** What cannot be written ends the command: a full disk must not look like a short answer. */
  async #pass(from: Wires["stdout"], name: "stdout" | "stderr"): Promise<void> {
    try {
      await copy(from, Deno[name]);
    } catch (error) {
      this.#lost ??= new HostError(`Cannot write ${name}: ${messageOf(error)}`, { cause: error });
      this.#abort.abort(this.#lost);
    }
  }

  /** Gives the terminal and the signals back. */
  [Symbol.dispose](): void {
    for (const [name, listener] of this.#listeners) Deno.removeSignalListener(name, listener);
    if (this.#isRaw) Deno.stdin.setRaw(false);
  }

  #listen(name: Deno.Signal, listener: () => void): void {
    Deno.addSignalListener(name, listener);
    this.#listeners.push([name, listener]);
  }

  #onSignal(name: (typeof FORWARDED)[number]): void {
    const isEnding = name === "SIGINT" || name === "SIGTERM" || name === "SIGHUP";
    if (isEnding) this.#interrupts++;
    const isHeard = this.#command?.kill(signalNumber(name)) ?? false;
    if (this.#command === undefined && isEnding) this.#abort.abort(new Interrupted(name));
    if (isHeard && this.#interrupts >= INSISTENCE) this.#abort.abort(new Interrupted(name));
  }
}

/** Gives the size of our terminal, or the usual one where there is none. */
export function windowSize(): { readonly rows: number; readonly columns: number } {
  const usual = { rows: 24, columns: 80 };
  try {
    const size = Deno.consoleSize();
    return size.rows > 0 && size.columns > 0 ? size : usual;
  } catch {
    return usual;
  }
}

/** When nobody reads ours any more, the command is told so in its turn. */
async function copy(from: Wires["stdout"], to: typeof Deno.stdout): Promise<void> {
  for await (const chunk of from) {
    try {
      for (let at = 0; at < chunk.length;) at += await to.write(chunk.subarray(at));
    } catch (error) {
      if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
      break;
    }
  }
}

async function feed(to: NonNullable<Wires["stdin"]>): Promise<void> {
  const buffer = new Uint8Array(64 * 1024);
  for (;;) {
    const count = await Deno.stdin.read(buffer);
    if (count === null || !await to.write(buffer.subarray(0, count))) break;
  }
  to.close();
}
