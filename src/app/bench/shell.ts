/** A bash that lives in some sandbox and is asked through pipes, the same for all systems. */
import { concat } from "@std/bytes/concat";
import { SetupError } from "../../errors.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** What a command came to. */
export interface Answer {
  readonly status: number;
  /** The beginning of what it printed. */
  readonly output: string;
  readonly bytes: number;
  /** From the question to the end of the answer, where this costs the least. */
  readonly ms: number;
}

/** A shell that lives. */
export interface Shell extends AsyncDisposable {
  readonly run: (text: string) => Promise<Answer>;
  /** Processes of the host that, with their descendants, are there for this sandbox alone. */
  readonly pids: () => Promise<readonly number[]>;
}

/** How a bash is reached. */
export interface ShellPipe {
  readonly write: (bytes: Bytes) => Promise<unknown>;
  readonly output: AsyncIterator<Uint8Array>;
  /** Says why it has ended. */
  readonly reason: () => Promise<string>;
}

/** How bash is called: it reads commands from its stdin, and no file. */
export const BASH = ["bash", "--noprofile", "--norc"] as const;

/** A byte that no answer holds stands before its status. */
const MARK = 0x1e;

/** So much of an answer is kept. */
const KEPT_BYTES = 65536;

/** Asks a bash on pipes, one command after the other. */
export class PipedShell {
  readonly #pipe: ShellPipe;
  #rest: Uint8Array = new Uint8Array();

  constructor(pipe: ShellPipe) {
    this.#pipe = pipe;
  }

  /** Runs shell text. @throws {SetupError} If the shell ends meanwhile. */
  readonly run = async (text: string): Promise<Answer> => {
    const begin = performance.now();
    const question = `{ ${text}\n} </dev/null 2>&1; printf '\\036%d\\n' "$?"\n`;
    await this.#pipe.write(new TextEncoder().encode(question));
    const kept: Uint8Array[] = [];
    let keptBytes = 0;
    let bytes = 0;
    const take = (part: Uint8Array) => {
      bytes += part.length;
      if (keptBytes >= KEPT_BYTES) return;
      kept.push(part.slice(0, KEPT_BYTES - keptBytes));
      keptBytes += kept.at(-1)!.length;
    };
    let chunk = await this.#next(text);
    let at = chunk.indexOf(MARK);
    for (; at < 0; at = chunk.indexOf(MARK)) {
      take(chunk);
      chunk = await this.#next(text);
    }
    take(chunk.subarray(0, at));
    let status = new TextDecoder().decode(chunk.subarray(at + 1));
    while (!status.includes("\n")) status += new TextDecoder().decode(await this.#next(text));
    const cut = status.indexOf("\n");
    this.#rest = new TextEncoder().encode(status.slice(cut + 1));
    const output = new TextDecoder().decode(concat(kept));
    return { status: Number(status.slice(0, cut)), output, bytes, ms: performance.now() - begin };
  };

  async #next(text: string): Promise<Uint8Array> {
    if (this.#rest.length > 0) {
      const rest = this.#rest;
      this.#rest = new Uint8Array();
      return rest;
    }
    const { value, done } = await this.#pipe.output.next();
    if (done !== true) return value;
    throw new SetupError(
      "shell",
      `Cannot ask the shell ${JSON.stringify(text)}: it has ended: ${await this.#pipe.reason()}`,
    );
  }
}

/**
 * Asks a shell, and compares the answer: a wrong one must never count as a fast one.
 *
 * @throws {WrongAnswer} If it is not the one expected.
 */
export async function ask(shell: Shell, text: string, expected: string): Promise<number> {
  const { status, output, ms } = await shell.run(text);
  mustBe(
    text,
    `status ${status}, ${JSON.stringify(output)}`,
    `status 0, ${JSON.stringify(expected)}`,
  );
  return ms;
}

/** What was measured did not do its work. */
export class WrongAnswer extends SetupError {}

/** @throws {WrongAnswer} If what was seen is not what was expected. */
export function mustBe(what: string, seen: string, expected: string): void {
  if (seen === expected) return;
  throw new WrongAnswer(
    "answer",
    `Cannot measure ${JSON.stringify(what)}: it gave ${seen}, not ${expected}`,
  );
}
