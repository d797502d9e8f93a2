/** A session: a shell that lives across commands, which run one after the other. */
import { GoneError, messageOf, UsageError } from "../errors.ts";
import { Bash } from "./bash.ts";
import { Command, type CommandEnd, type CommandOptions } from "./command.ts";
import type { Pattern } from "./expect.ts";
import type { RunResult } from "./outcome.ts";
import { type Output, OutputRecord } from "./output.ts";
import { type Exchange, Program } from "./program.ts";
import type { Room, RoomEnd } from "./room.ts";
import { killSession } from "./stop.ts";
import type { WindowSize } from "./terminal.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** What a session is opened with. */
export interface ShellOptions {
  /** Files that the shell reads first, in order. */
  readonly startupSource?: readonly string[];
  /** Variables beside those that every program of the sandbox has. */
  readonly env?: Readonly<Record<string, string>>;
  readonly size?: WindowSize;
  readonly startupTimeoutMs?: number;
  /** What a command may take where it does not say itself. */
  readonly commandTimeoutMs?: number | null;
}

/** How a command is run. */
export interface RunOptions extends CommandOptions {
  /** Whether it is parsed as a whole before any of it is executed. */
  readonly checkSyntax?: boolean;
  /** Interrupts it, or keeps it from being started. */
  readonly signal?: AbortSignal;
}

/** What an interactive program is waited for. */
export interface ExpectOptions {
  readonly expect?: readonly Pattern[];
  readonly timeoutMs?: number | null;
}

/** What is sent to an interactive program, and what is waited for then. */
export interface SendOptions extends ExpectOptions {
  /** Whether it shall end by that: its end is what is waited for. */
  readonly isQuit?: boolean;
}

/** How a program is interrupted. */
export interface InterruptOptions {
  readonly expect?: readonly Pattern[];
  /** How long each SIGINT is given. */
  readonly timeoutMs?: number;
  readonly retries?: number;
}

const DEFAULT_SIZE: WindowSize = { rows: 24, columns: 80 };
const DEFAULT_STARTUP_MS = 10_000;
const DEFAULT_INTERRUPT = { timeoutMs: 200, retries: 3 };

/** What is printed while no command runs, is kept so far. */
const LATE_LIMIT = { headBytes: 64 * 1024, tailBytes: 64 * 1024 };

/** The variable by which programs of a session are known, whatever terminal they leave. */
const MARK = "MINISANDBOX_SESSION";

/** Nothing to do, and nothing to print. */
const NOTHING = new TextEncoder().encode(":");

/** A session that is open. */
export class Shell {
  readonly #room: Room;
  readonly #options: ShellOptions;
  readonly #mark: string;
  #bash: Bash;
  #late = new OutputRecord(LATE_LIMIT);
  /** The command that runs, if one does. */
  #running: { readonly command: Command; readonly result: Promise<RunResult> } | null = null;
  #program: Program | null = null;
  #turn: Promise<unknown> = Promise.resolve();
  #turns = 0;
  /** Whether a SIGINT of ours may still be on its way. */
  #isSettling = false;
  #isReplacing = false;
  #gone: GoneError | null = null;
  #closing: Promise<void> | null = null;
  #startup: RunResult | null = null;

  /**
   * Starts the shell, and has it read the files that it is to read first.
   *
   * @throws {CommandError} If there is no bash inside.
   * @throws {SetupError} If it is not ready in time.
   * @throws {GoneError} If the sandbox has ended.
   */
  static async open(room: Room, options: ShellOptions = {}): Promise<Shell> {
    const mark = crypto.getRandomValues(new Uint8Array(8)).toHex();
    const shell = new Shell(room, options, mark, await openBash(room, options, mark));
    await shell.#source(options.startupSource ?? []);
    return shell;
  }

  private constructor(room: Room, options: ShellOptions, mark: string, bash: Bash) {
    this.#room = room;
    this.#options = options;
    this.#mark = mark;
    this.#bash = bash;
    this.#listen();
  }

  /** What the files that were read first printed, and how they ended; null if there were none. */
  get startup(): RunResult | null {
    return this.#startup;
  }

  /** Whether commands can be run. */
  get isOpen(): boolean {
    return this.#gone === null;
  }

  /** Whether an interactive program has the terminal. */
  get hasProgram(): boolean {
    return this.#program !== null;
  }

  /** How the shell ended; null while it lives. */
  get ended(): RoomEnd | null {
    return this.#bash.ended;
  }

  /**
   * Runs a command to its end, after those that were asked for before. It reads nothing: who asks it
   * for input finds the end of it.
   *
   * @param command Shell text.
   * @throws {UsageError} If it holds a NUL byte, or an interactive program has the terminal.
   * @throws {GoneError} If the session, or its sandbox, has ended.
   */
  run(command: string | Bytes, options: RunOptions = {}): Promise<RunResult> {
    const text = toText(command);
    return this.#inTurn(() => {
      options.signal?.throwIfAborted();
      return this.#run(text, options);
    });
  }

  /**
   * Starts an interactive program, and gives what it prints until one of the patterns comes, or it
   * ends, or the time is over; it is then still there.
   *
   * @throws {UsageError} If another one has the terminal.
   * @throws {GoneError} If the session, or its sandbox, has ended.
   */
  start(command: string | Bytes, options: ExpectOptions = {}): Promise<Exchange> {
    const text = toText(command);
    return this.#inTurn(() => {
      const program = new Program(this.#place(), text);
      this.#program = program;
      program.follow(this.#finish(program.command, program));
      return program.expect(options);
    });
  }

  /**
   * Types bytes into the terminal of the program that `start` has started, and waits as that did.
   *
   * @throws {UsageError} If there is none.
   * @throws {GoneError} If the session, or its sandbox, has ended.
   */
  async send(input: string | Bytes, options: SendOptions = {}): Promise<Exchange> {
    this.#mustBeOpen();
    const program = this.#program;
    if (program === null) {
      throw new UsageError("Cannot send input: no interactive program runs in the session", {
        remedy: "Start one first.",
      });
    }
    const bytes = typeof input === "string" ? new TextEncoder().encode(input) : input;
    return await program.send(this.#bash, bytes, options);
  }

  /**
   * Interrupts what runs, as Ctrl-C does; what takes no notice is killed. Gives null where it was no
   * interactive program: how a command ended, its own call tells.
   *
   * @throws {GoneError} If the session, or its sandbox, has ended.
   */
  async interrupt(options: InterruptOptions = {}): Promise<Exchange | null> {
    this.#mustBeOpen();
    const times = { ...DEFAULT_INTERRUPT, ...options };
    if (this.#program !== null) return await this.#program.interrupt(times);
    if (this.#running !== null) {
      const { command, result } = this.#running;
      await command.interrupt(times);
      await result;
    }
    return null;
  }

  /** Tells its programs of a new size (SIGWINCH). */
  resize(size: WindowSize): void {
    this.#bash.resize(size);
  }

  /** Ends the shell and what it has started, in any state; twice is harmless. */
  close(): Promise<void> {
    return this.#closing ??= this.#close();
  }

  async #close(): Promise<void> {
    this.#gone ??= new GoneError("Cannot use the session: it is closed");
    const running = this.#running?.result;
    const first = this.#bash;
    await first.close();
    await Promise.allSettled([this.#turn, running]);
    await this.#bash.close(); // one that has taken its place meanwhile
    if (!this.#room.isAlive) return;
    for (const bash of new Set([first, this.#bash])) {
      await killSession(this.#room, bash.pid, `${MARK}=${this.#mark}`);
      bash.remove();
    }
  }

  #inTurn<T>(act: () => Promise<T>): Promise<T> {
    const begin = async () => {
      this.#mustBeOpen();
      if (this.#program !== null) {
        throw new UsageError("Cannot run: an interactive program has the session's terminal", {
          remedy: "Send it what ends it, or interrupt it.",
        });
      }
      return await act();
    };
    // At once where nothing is before it: whoever interrupts next, means this one.
    const result = this.#turns === 0 ? begin() : this.#turn.then(begin);
    this.#turns++;
    const end = () => {
      this.#turns--;
    };
    this.#turn = result.then(end, end);
    return result;
  }

  async #run(text: Bytes, options: RunOptions): Promise<RunResult> {
    const { checkSyntax = true, signal, ...rest } = options;
    const timeoutMs = options.timeoutMs ?? this.#options.commandTimeoutMs ?? null;
    const kind = { isChecked: checkSyntax, hasInput: false };
    const command = new Command(this.#place(), text, { ...rest, timeoutMs, kind });
    const interrupt = () => void command.interrupt(DEFAULT_INTERRUPT);
    signal?.addEventListener("abort", interrupt, { once: true });
    try {
      return await this.#finish(command, null);
    } finally {
      signal?.removeEventListener("abort", interrupt);
    }
  }

  /** Waits for a command's end, and sees to it that the session can go on. */
  #finish(command: Command, program: Program | null): Promise<RunResult> {
    // What came until it was sent, came in the background.
    const result = this.#awaitEnd(command, this.#takeLate(), program);
    this.#running = { command, result };
    return result;
  }

  async #awaitEnd(
    command: Command,
    before: Output,
    program: Program | null,
  ): Promise<RunResult> {
    let end: CommandEnd;
    try {
      end = await command.end();
    } catch (error) {
      this.#gone ??= error instanceof GoneError ? error : new GoneError(
        `Cannot use the session: ${messageOf(error)}`,
        { cause: error },
      );
      throw this.#gone;
    } finally {
      this.#isSettling = command.wasSignaled;
      this.#running = null;
      this.#program = null;
    }
    if (this.#gone !== null) throw this.#gone;
    if (end.ended !== null) this.#gone = goneBy(end.ended);
    else if (end.isShellLost) await this.#replace();
    else if (end.wasSignaled && !await this.#settle()) await this.#replace();
    return {
      outcome: end.outcome,
      output: program === null ? end.output : program.rest(),
      before,
      restarted: end.isShellLost || end.hasLostVariables,
      wasKilled: end.wasKilled,
      ended: end.ended,
    };
  }

  /** Lets a SIGINT that came late be over, and its newline be gone; false if the shell is lost. */
  async #settle(): Promise<boolean> {
    const { ended } = this.#bash.send(
      NOTHING,
      { isChecked: false, hasInput: false },
      this.#bash.onLate,
    );
    const ending = await ended;
    this.#isSettling = false;
    return ending.kind === "reported";
  }

  /** Puts a new shell in the place of one that is lost. */
  async #replace(): Promise<void> {
    const old = this.#bash;
    this.#isReplacing = true;
    try {
      await old.close();
      this.#isSettling = false;
      this.#bash = await openBash(this.#room, this.#options, this.#mark, old.state);
      this.#listen();
      old.remove();
    } catch (error) {
      this.#gone = new GoneError(`Cannot use the session: its shell is lost: ${messageOf(error)}`, {
        cause: error,
      });
      throw this.#gone;
    } finally {
      this.#isReplacing = false;
    }
  }

  async #source(paths: readonly string[]): Promise<void> {
    if (paths.length === 0) return;
    const text = paths.map((path) => `. ${quoteWord(path)}`).join(" && ");
    const timeoutMs = this.#options.startupTimeoutMs ?? DEFAULT_STARTUP_MS;
    try {
      this.#startup = await this.run(text, { timeoutMs });
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  #listen(): void {
    this.#bash.onLate = (bytes) => {
      const isSignaled = this.#isSettling || (this.#running?.command.wasSignaled ?? false);
      if (isSignaled && bytes.length === 1 && bytes[0] === NEWLINE) return; // the shell's
      this.#late.push(bytes);
    };
    // A shell that ends while it has nothing to do, and not because it is replaced.
    void this.#bash.died.then((end) => {
      if (this.#running === null && this.#closing === null && !this.#isReplacing) {
        this.#gone ??= this.#room.isAlive ? goneBy(end) : new GoneError(
          "Cannot use the session: the sandbox has ended",
        );
      }
    });
  }

  #takeLate(): Output {
    const late = this.#late.finish(false);
    this.#late = new OutputRecord(LATE_LIMIT);
    return late;
  }

  #place(): { readonly room: Room; readonly bash: Bash; readonly mark: string } {
    return { room: this.#room, bash: this.#bash, mark: `${MARK}=${this.#mark}` };
  }

  #mustBeOpen(): void {
    if (this.#gone !== null) throw this.#gone;
  }
}

const NEWLINE = 10;

function openBash(
  room: Room,
  { env = {}, size = DEFAULT_SIZE, startupTimeoutMs = DEFAULT_STARTUP_MS }: ShellOptions,
  mark: string,
  state?: string,
): Promise<Bash> {
  return Bash.open(room, {
    env: { ...env, [MARK]: mark },
    size,
    timeoutMs: startupTimeoutMs,
    ...(state === undefined ? {} : { state }),
  });
}

function goneBy({ status, signal }: RoomEnd): GoneError {
  const how = signal === null ? `exited with status ${status}` : `was ended by signal ${signal}`;
  return new GoneError(`Cannot use the session: its shell ${how}`);
}

function toText(command: string | Bytes): Bytes {
  const text = typeof command === "string" ? new TextEncoder().encode(command) : command;
  if (text.includes(0)) throw new UsageError("Cannot run the command: it holds a NUL byte");
  return text;
}

function quoteWord(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
