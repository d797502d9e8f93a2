/** Sessions in sandboxes made in this process, as a server makes them. */
import { assertEquals } from "@std/assert";
import { closeQuietly, O, pipe, readable, write } from "../../ffi/mod.ts";
import { openSession } from "../../src/app/session.ts";
import { DEFAULT_SPEC } from "../../src/app/spec.ts";
import { toProgram } from "../../src/app/program.ts";
import type { Sandbox } from "../../src/sandbox/mod.ts";
import type {
  Exchange,
  RunOptions,
  RunResult,
  Shell,
  ShellOptions,
} from "../../src/session/mod.ts";
import { LiveEngine } from "./live_engine.ts";
import { sharedStore } from "./minisandbox.ts";

/** So long a command of a test may take before it counts as hung. */
const HUNG_MS = 60_000;

let engine: LiveEngine | undefined;

Deno.test.afterAll(() => {
  engine?.[Symbol.dispose]();
});

/** Makes a sandbox for a user's programs, from an engine that the tests of one file share. */
export async function liveSandbox(uid = 0): Promise<Sandbox & AsyncDisposable> {
  engine ??= await LiveEngine.open(sharedStore());
  const sandbox = await engine.create(uid);
  const dispose = sandbox[Symbol.asyncDispose];
  return Object.assign(sandbox, {
    [Symbol.asyncDispose]: async () => {
      await dispose();
      await endWait();
    },
  });
}

/** The thread that waits for descriptors may still be on its way back: a test ends after it. */
async function endWait(): Promise<void> {
  const { reader, writer } = pipe(O.O_CLOEXEC);
  write(writer, Uint8Array.of(0));
  await readable(reader);
  closeQuietly(reader, writer);
}

/** Opens a session in a sandbox. */
export async function openIn(
  sandbox: Sandbox,
  options: ShellOptions = {},
  uid = 0,
): Promise<Session> {
  const user = { uid, gid: uid, groups: [], home: uid === 0 ? "/root" : "/" };
  const program = toProgram({ ...DEFAULT_SPEC, command: ["bash"] }, user);
  return new Session(await openSession(sandbox, program, options));
}

/** Opens a session in a sandbox of its own, which goes with it. */
export async function liveSession(
  options: ShellOptions = {},
): Promise<Session & { readonly sandbox: Sandbox }> {
  const sandbox = await liveSandbox();
  const session = await openIn(sandbox, options).catch(async (error) => {
    await sandbox[Symbol.asyncDispose]();
    throw error;
  });
  session.onDispose = () => sandbox[Symbol.asyncDispose]();
  return Object.assign(session, { sandbox });
}

/** What a command came to, its output as text. */
export interface Said extends Omit<RunResult, "output" | "before"> {
  readonly text: string;
  readonly before: string;
}

/** A session, for tests. */
export class Session implements AsyncDisposable {
  readonly shell: Shell;
  onDispose: () => PromiseLike<void> = () => Promise.resolve();

  constructor(shell: Shell) {
    this.shell = shell;
  }

  /** Runs a command. */
  async run(
    command: string | Uint8Array<ArrayBuffer>,
    options: RunOptions = {},
  ): Promise<Said> {
    const { output, before, ...rest } = await this.shell.run(command, {
      timeoutMs: HUNG_MS,
      ...options,
    });
    return { ...rest, text: toText(output.head), before: toText(before.head) };
  }

  /** Runs a command that shall exit with 0, and gives what it printed. */
  async print(command: string | Uint8Array<ArrayBuffer>): Promise<string> {
    const { outcome, text } = await this.run(command);
    assertEquals(outcome, { kind: "exited", code: 0 }, text);
    return text;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.shell.close();
    await this.onDispose();
    await endWait();
  }
}

/** What was printed before a match, as text; the program goes on. */
export function upTo({ output, match, isTimedOut, result }: Exchange): string {
  if (match === null) {
    throw new Error(`no match: ${JSON.stringify({ text: toText(output), isTimedOut, result })}`);
  }
  return toText(output);
}

/** Decodes what has to be UTF-8. */
export function toText(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
}

/** How a command ended that exited. */
export function exited(code: number): { readonly kind: "exited"; readonly code: number } {
  return { kind: "exited", code };
}
