/** One bash that reads its commands from a channel: what is sent, reported and printed. */
import {
  closeQuietly,
  F,
  fcntl,
  flushInput,
  forget,
  ftruncate,
  isErrno,
  O,
  readable,
  readNow,
  SavedMode,
  SEEK,
  seek,
  setWindowSize,
  signalForeground,
  TERMIOS,
  writable,
  write,
  writeNow,
} from "../../ffi/mod.ts";
import { messageOf, SetupError } from "../errors.ts";
import { DRIVER, DRIVER_VARIABLES, REPORT_FLAG } from "./driver.ts";
import { type Report, ReportReader } from "./report.ts";
import type { Room, RoomChannel, RoomEnd, RoomProcess } from "./room.ts";
import type { WindowSize } from "./terminal.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** How a command ended. */
export type Ending =
  | { readonly kind: "reported"; readonly status: number; readonly flags: string }
  /** The shell is gone. */
  | { readonly kind: "died"; readonly end: RoomEnd }
  /** The shell takes no commands. */
  | { readonly kind: "deaf" };

/** A command that has been sent. */
export interface Sent {
  /** When, as `performance.now()`. */
  readonly at: number;
  /** Resolves with the id of the last background job before it, once the shell has begun it. */
  readonly started: Promise<number>;
  readonly ended: Promise<Ending>;
}

/** How a command is run: checked before, and without input. */
export interface Kind {
  readonly isChecked: boolean;
  readonly hasInput: boolean;
}

/** What a bash starts from. */
export interface BashOptions {
  readonly env: Readonly<Record<string, string>>;
  readonly size: WindowSize;
  readonly timeoutMs: number;
  /** The file in which a former shell left its directory and exports. */
  readonly state?: string;
}

/** A pty gives this much at most in one read. */
const CHUNK_BYTES = 4096;

/** So many reads, and the others have their turn. */
const TURN_READS = 64;

/** More cannot lie between a program that has ended and us: it would have waited for us. */
const LAST_READS = 256;

/** What is read before anyone listens shows only in errors. */
const SHOWN_BYTES = 200;

/** How often the shell is told of a command that it does not begin, and how long it takes. */
const RESEND_MS = 250;
const RESENDS = 40;

/** So long it may take; then a line at its prompt calls it back to its channel. */
const CALLS_BACK_AFTER = 3;

/** What a shell reads at its prompt; where it is not, this is thrown away before the next command. */
const CALL_BACK = new TextEncoder().encode(" PROMPT_COMMAND=$__ms_loop\n");

/** Each page of the text file is there once and for all: a short command can always be written. */
const KEPT_BYTES = 4096;

const CLEAR = {
  input: TERMIOS.IXON | TERMIOS.IXOFF,
  output: TERMIOS.OPOST,
  local: TERMIOS.ECHO | TERMIOS.ECHOE | TERMIOS.ECHOK | TERMIOS.ECHONL | TERMIOS.ECHOCTL |
    TERMIOS.ECHOKE,
};
const SET = { input: TERMIOS.ICRNL, output: 0, local: TERMIOS.ICANON | TERMIOS.ISIG };

/** A command under way, from our side. */
interface Current extends Sent {
  readonly id: string;
  readonly kick: Bytes;
  isStarted: boolean;
  resends: number;
  timer: number;
  readonly start: (lastJob: number) => void;
  readonly end: (ending: Ending) => void;
}

/** A bash that lives, or has lived. */
export class Bash {
  /** Takes what is printed while no command runs; a piece is lent for the call. */
  onLate: (bytes: Bytes) => void = () => {};
  readonly #room: Room;
  readonly #channel: RoomChannel;
  readonly #mode: SavedMode;
  readonly #process: RoomProcess;
  readonly #reports = new ReportReader();
  readonly #buffer = new Uint8Array(CHUNK_BYTES);
  #current: Current | null = null;
  #onOutput: ((bytes: Bytes) => void) | null = null;
  #end: RoomEnd | null = null;
  #isOpen = true;
  #isListening = false;

  /**
   * Starts a bash and waits until it is ready.
   *
   * @throws {CommandError} If there is no bash.
   * @throws {SetupError} If it is not ready in time.
   * @throws {GoneError} If the sandbox has ended.
   */
  static async open(room: Room, options: BashOptions): Promise<Bash> {
    const channel = room.openChannel();
    const id = randomId();
    let process: RoomProcess;
    let mode: SavedMode;
    try {
      setNonblocking(channel.master);
      setWindowSize(channel.master, options.size.rows, options.size.columns);
      mode = new SavedMode(channel.master);
      mode.change(CLEAR, SET);
      mode.apply(channel.master);
      write(channel.text, Uint8Array.of(0));
      write(channel.driver, new TextEncoder().encode(DRIVER));
      process = await room.start({
        argv: ["bash", "--noprofile", "--noediting", "--rcfile", `${channel.dir}/driver`, "-i"],
        env: {
          ...options.env,
          [DRIVER_VARIABLES.directory]: channel.dir,
          [DRIVER_VARIABLES.id]: id,
          ...(options.state === undefined ? {} : { [DRIVER_VARIABLES.state]: options.state }),
        },
        ptyNumber: channel.ptyNumber,
      });
    } catch (error) {
      closeChannel(channel);
      removeQuietly(room, channel.dir);
      throw error;
    } finally {
      closeQuietly(channel.driver);
    }
    const bash = new Bash(room, channel, { mode, process });
    await bash.#awaitReady(id, options.timeoutMs);
    return bash;
  }

  private constructor(
    room: Room,
    channel: RoomChannel,
    { mode, process }: { readonly mode: SavedMode; readonly process: RoomProcess },
  ) {
    this.#room = room;
    this.#channel = channel;
    this.#mode = mode;
    this.#process = process;
    void this.#readReports();
    this.#listen();
    void process.wait().then((end) => this.#die(end));
  }

  /** Its id inside. */
  get pid(): number {
    return this.#process.pid;
  }

  /** Where a shell that takes its place finds its directory and exports. */
  get state(): string {
    return `${this.#channel.dir}/state`;
  }

  /** Resolves with how it ended. */
  get died(): Promise<RoomEnd> {
    return this.#process.wait();
  }

  /** How it ended; null while it lives. */
  get end(): RoomEnd | null {
    return this.#end;
  }

  /**
   * Sends a command; the one before has ended. What it prints goes to `onOutput`, lent for the call.
   *
   * @throws {SetupError} If there is no room for it.
   */
  send(text: Bytes, { isChecked, hasInput }: Kind, onOutput: (bytes: Bytes) => void): Sent {
    this.drain(LAST_READS);
    const id = randomId();
    const kind = `${isChecked ? "c" : ""}${hasInput ? "i" : "n"}`;
    const started = Promise.withResolvers<number>();
    const ended = Promise.withResolvers<Ending>();
    const current: Current = {
      id,
      kick: new TextEncoder().encode(`${id} ${kind} ${id}\n`),
      at: performance.now(),
      started: started.promise,
      ended: ended.promise,
      isStarted: false,
      resends: 0,
      timer: 0,
      start: started.resolve,
      end: ended.resolve,
    };
    this.#current = current;
    if (this.#end !== null) {
      this.#finish({ kind: "died", end: this.#end });
      return current;
    }
    this.#mode.apply(this.#channel.master);
    flushInput(this.#channel.master);
    this.#writeText(text);
    this.#onOutput = onOutput;
    this.#kick(current);
    this.#listen();
    return current;
  }

  /** Types bytes into its terminal; false if they were not taken in time. */
  async type(bytes: Bytes, timeoutMs: number): Promise<boolean> {
    const deadline = performance.now() + timeoutMs;
    let rest = bytes;
    while (rest.length > 0 && this.#isOpen) {
      const count = this.#typeSome(rest);
      if (count > 0) {
        rest = rest.subarray(count);
        continue;
      }
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const timer = setTimeout(() => resolve(false), Math.max(0, deadline - performance.now()));
      const isWritable = await Promise.race([promise, writable(this.#channel.master)]);
      clearTimeout(timer);
      if (!isWritable) return false;
    }
    return rest.length === 0;
  }

  /** Sends SIGINT to what is in the foreground of its terminal. */
  interrupt(): void {
    if (!this.#isOpen) return;
    try {
      signalForeground(this.#channel.master, 2);
    } catch (error) {
      if (!isErrno(error, "EIO", "ESRCH")) throw error;
    }
  }

  /** Calls a shell back that has been thrown to its prompt without what brings it to its channel. */
  callBack(): void {
    if (this.#isOpen) this.#typeSome(CALL_BACK);
  }

  /** Sends a signal to the shell itself. */
  signal(signal: number): void {
    this.#process.signal(signal);
  }

  /** Tells its programs of a new size (SIGWINCH). */
  resize({ rows, columns }: WindowSize): void {
    if (this.#isOpen) setWindowSize(this.#channel.master, rows, columns);
  }

  /** Reads what has been printed so far. */
  drain(reads: number): void {
    for (let i = 0; i < reads && this.#isOpen; i++) {
      let count: number;
      try {
        count = readNow(this.#channel.master, this.#buffer);
      } catch (error) {
        if (!isErrno(error, "EIO")) throw error; // nobody has the other side open
        count = 0;
      }
      if (count === 0) this.#isListening = false;
      if (count <= 0) return;
      (this.#onOutput ?? this.onLate)(this.#buffer.subarray(0, count));
    }
  }

  /** Ends the shell, if it lives, and lets go of all that is ours. */
  async close(): Promise<void> {
    if (!this.#isOpen) return;
    this.#process.signal(9);
    await this.#process.wait();
    this.#isOpen = false;
    closeChannel(this.#channel);
  }

  /** Removes its files inside: no shell needs them any more. */
  remove(): void {
    removeQuietly(this.#room, this.#channel.dir);
  }

  async #awaitReady(id: string, timeoutMs: number): Promise<void> {
    const ready = Promise.withResolvers<Ending>();
    const started = Promise.withResolvers<number>();
    let shown = "";
    this.#onOutput = (bytes) => {
      shown = (shown + new TextDecoder().decode(bytes)).slice(0, SHOWN_BYTES);
    };
    const timer = setTimeout(() => this.#finish({ kind: "deaf" }), timeoutMs);
    this.#current = {
      id,
      kick: new Uint8Array(),
      at: performance.now(),
      started: started.promise,
      ended: ready.promise,
      isStarted: true,
      resends: 0,
      timer: 0,
      start: started.resolve,
      end: ready.resolve,
    };
    const ending = await ready.promise;
    clearTimeout(timer);
    if (ending.kind === "reported") return;
    await this.close();
    if (this.#room.isAlive) this.remove();
    const why = ending.kind === "deaf" ? `not ready in ${timeoutMs} ms` : "its shell has ended";
    const said = shown.trim() === "" ? "" : `: ${JSON.stringify(shown.trim())}`;
    throw new SetupError("start the session", `Cannot start the session: ${why}${said}`);
  }

  /** Listens to the terminal, unless its other side is closed: whoever opens it again, tells us. */
  #listen(): void {
    if (this.#isListening) return;
    this.#isListening = true;
    void this.#readOutput();
  }

  async #readOutput(): Promise<void> {
    while (this.#isOpen && this.#isListening) {
      await readable(this.#channel.master);
      this.drain(TURN_READS);
    }
  }

  async #readReports(): Promise<void> {
    const buffer = new Uint8Array(CHUNK_BYTES);
    while (this.#isOpen) {
      await readable(this.#channel.report);
      if (!this.#isOpen) return;
      const count = readNow(this.#channel.report, buffer);
      if (count === 0) return; // it is no pipe: someone was quicker than we
      if (count > 0) this.#take(this.#reports.push(buffer.subarray(0, count)));
      this.#listen();
    }
  }

  #take(reports: readonly Report[]): void {
    for (const report of reports) {
      const current = this.#current;
      if (current === null || report.id !== current.id) continue;
      if (report.kind === "started") {
        current.isStarted = true;
        clearTimeout(current.timer);
        current.start(report.lastJob);
      } else if (current.isStarted) {
        const { status, flags } = report;
        this.#finish({ kind: "reported", status, flags });
      }
    }
  }

  /** Whatever the command printed, has been printed: it is read before its end is told. */
  #finish(ending: Ending): void {
    const current = this.#current!;
    this.drain(LAST_READS);
    clearTimeout(current.timer);
    this.#current = null;
    this.#onOutput = null;
    current.start(0);
    current.end(ending);
  }

  #die(end: RoomEnd): void {
    this.#end = end;
    if (this.#current !== null) this.#finish({ kind: "died", end });
  }

  /** A kick may be lost to a late signal, or to a program inside that reads the pipe. */
  #kick(current: Current): void {
    const { kick } = this.#channel;
    if (writeNow(kick, current.kick) < 0) {
      // Filled by someone else: what is in there is no command.
      const waste = new Uint8Array(CHUNK_BYTES);
      for (let i = 0; i < LAST_READS && readNow(kick, waste) > 0; i++);
      writeNow(kick, current.kick);
    }
    current.timer = setTimeout(() => this.#kickAgain(current), RESEND_MS);
  }

  #kickAgain(current: Current): void {
    if (this.#current !== current || current.isStarted) return;
    if (++current.resends > RESENDS) return this.#finish({ kind: "deaf" });
    if (current.resends > CALLS_BACK_AFTER) this.callBack();
    this.#kick(current);
  }

  #typeSome(bytes: Bytes): number {
    try {
      return writeNow(this.#channel.master, bytes);
    } catch (error) {
      if (isErrno(error, "EIO")) return bytes.length; // nobody can read it
      throw error;
    }
  }

  #writeText(text: Bytes): void {
    const { text: fd } = this.#channel;
    const all = new Uint8Array(text.length + 1);
    all.set(text);
    try {
      seek(fd, 0, SEEK.SEEK_SET);
      for (let rest = all; rest.length > 0;) rest = rest.subarray(write(fd, rest));
    } catch (error) {
      this.#current = null;
      throw new SetupError("send the command", `Cannot send the command: ${messageOf(error)}`, {
        cause: error,
        remedy: "A command of up to 4000 bytes can still make room in /run.",
      });
    } finally {
      if (all.length > KEPT_BYTES) this.#shrinkLater(fd);
    }
  }

  #shrinkLater(fd: number): void {
    const current = this.#current;
    void (current?.started ?? Promise.resolve(0)).then(() => {
      if (this.#isOpen && this.#current === current) ftruncate(fd, KEPT_BYTES);
    });
  }
}

/** The flags that say that a shell keeps only what is exported. */
export function lostVariables(flags: string): boolean {
  return flags.includes(REPORT_FLAG.executed);
}

function setNonblocking(fd: number): void {
  fcntl(fd, F.F_SETFL, fcntl(fd, F.F_GETFL) | O.O_NONBLOCK);
}

function closeChannel({ master, kick, report, text }: RoomChannel): void {
  for (const fd of [master, kick, report, text]) forget(fd);
  closeQuietly(master, kick, report, text);
}

/** With the sandbox it goes anyway. */
function removeQuietly(room: Room, dir: string): void {
  if (room.isAlive) room.removeChannel(dir);
}

function randomId(): string {
  return crypto.getRandomValues(new Uint8Array(8)).toHex();
}
