/** One bash that reads its commands from a channel: what is sent, reported and printed. */
import { delay } from "@std/async/delay";
import {
  closeQuietly,
  hearArrivals,
  ignoreArrivals,
  readable,
  unreadBytes,
  Watch,
  writable,
  write,
  yieldProcessor,
} from "../../ffi/mod.ts";
import { SetupError } from "../errors.ts";
import { ChannelEnd, CHUNK_BYTES, closeChannel, LAST_READS } from "./channel_end.ts";
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
  /** The id of the last process made before it; null while the shell has not begun it. */
  readonly lastPid: number | null;
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

/** So many reads take what is there when a command has ended. */
const TURN_READS = 64;

/**
 * So long this thread stands still for the only command: most small ones end meanwhile, and much output
 * comes in small pieces. To be told of each costs more, and whoever else wants something waits no longer.
 */
const PATIENCE_MS = 2;

/** So often others have the processor before we stand still: they may be about to print. */
const YIELDS = 50;

/** After so many pieces at once we look how late it is, and are not told of more meanwhile. */
const MANY_PIECES = 8;

/** Commands under way, in all shells. */
const underWay = new Set<Current>();

/** What a shell prints before it is ready shows only in errors. */
const SHOWN_BYTES = 200;

/** How often the shell is told of a command that it does not begin, and how long it takes. */
const RESEND_MS = 250;
const RESENDS = 40;

/** So often it may take no notice; then a line at its prompt calls it back to its channel. */
const CALLS_BACK_AFTER = 3;

/** What a shell reads at its prompt; where it is not, this is thrown away before the next command. */
const CALL_BACK = new TextEncoder().encode(" PROMPT_COMMAND=$__ms_loop\n");

/** How often we look whether a command has begun, where that matters: before a signal. */
const LOOK_MS = 2;

const SIGKILL = 9;
const SIGCONT = 18;

/** A longer text is not left lying about. */
const LONG_BYTES = 4096;

/** A command under way, from our side. */
interface Current extends Sent {
  lastPid: number | null;
  /** How it is run, in letters. */
  readonly kind: string;
  readonly isLong: boolean;
  id: string;
  resends: number;
  timer: number;
  readonly end: (ending: Ending) => void;
}

/** What is reported lies here only until the call is over. */
const reportBytes = new Uint8Array(CHUNK_BYTES);

/** A bash that lives, or has lived. */
export class Bash {
  /** Takes what is printed while no command runs; a piece is lent for the call. */
  onLate: (bytes: Bytes) => void = () => {};
  readonly #room: Room;
  readonly #channel: RoomChannel;
  readonly #end: ChannelEnd;
  readonly #process: RoomProcess;
  readonly #reports = new ReportReader();
  #current: Current | null = null;
  #onOutput: ((bytes: Bytes) => void) | null = null;
  readonly #print = (bytes: Bytes) => (this.#onOutput ?? this.onLate)(bytes);
  #ended: RoomEnd | null = null;
  #isListening = false;

  /**
   * Starts a bash and waits until it is ready.
   *
   * @throws {CommandError} If there is no bash.
   * @throws {SetupError} If it is not ready in time.
   * @throws {GoneError} If the sandbox has ended.
   */
  static async open(room: Room, options: BashOptions): Promise<Bash> {
    const { env, state } = options;
    const channel = room.openChannel();
    const id = randomId();
    let parts: { readonly end: ChannelEnd; readonly process: RoomProcess };
    try {
      const end = new ChannelEnd(channel, options.size);
      write(channel.driver, new TextEncoder().encode(DRIVER));
      const process = await room.start({
        argv: ["bash", "--noprofile", "--noediting", "--rcfile", `${channel.dir}/driver`, "-i"],
        env: {
          ...env,
          [DRIVER_VARIABLES.directory]: channel.dir,
          [DRIVER_VARIABLES.id]: id,
          ...(state === undefined ? {} : { [DRIVER_VARIABLES.state]: state }),
        },
        ptyNumber: channel.ptyNumber,
      });
      parts = { end, process };
    } catch (error) {
      closeChannel(channel);
      if (room.isAlive) room.removeChannel(channel.dir);
      throw error;
    } finally {
      closeQuietly(channel.driver);
    }
    const bash = new Bash(room, channel, parts);
    await bash.#awaitReady(id, options.timeoutMs);
    return bash;
  }

  private constructor(
    room: Room,
    channel: RoomChannel,
    { end, process }: { readonly end: ChannelEnd; readonly process: RoomProcess },
  ) {
    this.#room = room;
    this.#channel = channel;
    this.#end = end;
    this.#process = process;
  }

  /** Its id inside. */
  get pid(): number {
    return this.#process.pid;
  }

  /** Where a shell that takes its place finds its directory and exports. */
  get state(): string {
    return `${this.#channel.dir}/state`;
  }

  /** How it ended; null while it lives. */
  get ended(): RoomEnd | null {
    return this.#ended;
  }

  /** Resolves with how it ended. */
  get died(): Promise<RoomEnd> {
    return this.#process.wait();
  }

  /**
   * Sends a command; the one before has ended. What it prints goes to `onOutput`, lent for the call.
   *
   * @throws {SetupError} If there is no room for it.
   */
  send(text: Bytes, { isChecked, hasInput }: Kind, onOutput: (bytes: Bytes) => void): Sent {
    this.#drain(LAST_READS);
    const kind = `${isChecked ? "c" : "u"}${hasInput ? "i" : "n"}`;
    const current = toCurrent(randomId(), kind, text.length > LONG_BYTES);
    if (this.#ended !== null) {
      this.#current = current;
      this.#finish({ kind: "died", end: this.#ended });
      return current;
    }
    this.#end.resetTerminal();
    this.#end.writeText(text);
    this.#current = current;
    this.#onOutput = onOutput;
    underWay.add(current);
    this.#kick(current);
    this.#listen();
    return current;
  }

  /** Takes what the command that was sent prints, and its end, if they come at once and nobody else waits. */
  lookOn(): void {
    const { master, report } = this.#channel;
    const watch = new Watch([report, master]);
    const until = performance.now() + PATIENCE_MS;
    using undo = new DisposableStack();
    let isHearing = true;
    while (this.#current !== null && this.#end.isOpen && underWay.size === 1) {
      const left = Math.ceil(until - performance.now());
      if (left <= 0) return;
      if (this.#takePieces()) {
        if (isHearing) {
          isHearing = false;
          ignoreArrivals(master);
          undo.defer(() => hearArrivals(master));
        }
        continue;
      }
      if (!this.#isListening) watch.leave(master);
      if (!watch.wait(left)) return;
      const isReported = watch.tells(report);
      if (this.#isListening) this.#drain(isReported ? TURN_READS : 1);
      if (isReported && this.#current !== null && !this.#readReport()) return;
    }
  }

  /** Takes output that comes at once, piece by piece; false if that was not much, or a command has ended. */
  #takePieces(): boolean {
    const { master, report } = this.#channel;
    let pieces = 0;
    for (let yields = 0; yields < YIELDS && pieces < MANY_PIECES && this.#isListening;) {
      if (unreadBytes(master) > 0) {
        this.#drain(1);
        pieces++;
        yields = 0;
      } else if (unreadBytes(report) > 0) {
        return false;
      } else {
        yieldProcessor();
        yields++;
      }
    }
    return pieces === MANY_PIECES;
  }

  /** Resolves once the shell has begun the command that was sent last; false if not in time. */
  async begun(timeoutMs: number): Promise<boolean> {
    const current = this.#current;
    const deadline = performance.now() + timeoutMs;
    while (current !== null && this.#current === current && !this.#hasBegun(current)) {
      if (performance.now() >= deadline) return false;
      await delay(LOOK_MS);
    }
    return true;
  }

  /** Types bytes into its terminal; false if they were not taken in time. */
  async type(bytes: Bytes, timeoutMs: number): Promise<boolean> {
    const deadline = performance.now() + timeoutMs;
    let rest = bytes;
    while (rest.length > 0 && this.#end.isOpen) {
      const count = this.#end.type(rest);
      if (count > 0) {
        rest = rest.subarray(count);
        continue;
      }
      const late = Promise.withResolvers<boolean>();
      const timer = setTimeout(
        () => late.resolve(false),
        Math.max(0, deadline - performance.now()),
      );
      const isTaken = await Promise.race([late.promise, writable(this.#channel.master)]);
      clearTimeout(timer);
      if (!isTaken) return false;
    }
    return rest.length === 0;
  }

  /** Sends SIGINT to what is in the foreground of its terminal. */
  interrupt(): void {
    this.#end.interrupt();
  }

  /** Calls a shell back that has been thrown to its prompt without what brings it to its channel. */
  callBack(): void {
    if (this.#end.isOpen) this.#end.type(CALL_BACK);
  }

  /** Sends a signal to the shell itself. */
  signal(signal: number): void {
    this.#process.signal(signal);
  }

  /** Tells its programs of a new size (SIGWINCH). */
  resize(size: WindowSize): void {
    this.#end.resize(size);
  }

  /** Ends the shell, if it lives, and lets go of all that is ours. */
  async close(): Promise<void> {
    if (!this.#end.isOpen) return;
    this.#process.signal(SIGKILL);
    await this.#process.wait();
    this.#end.close();
  }

  /** Removes its files inside: no shell needs them any more. */
  remove(): void {
    if (this.#room.isAlive) this.#room.removeChannel(this.#channel.dir);
  }

  async #awaitReady(id: string, timeoutMs: number): Promise<void> {
    let shown = "";
    this.#onOutput = (bytes) => {
      shown = (shown + new TextDecoder().decode(bytes)).slice(0, SHOWN_BYTES);
    };
    const current = toCurrent(id, "", false);
    current.lastPid = 0;
    current.timer = setTimeout(() => this.#finish({ kind: "deaf" }), timeoutMs);
    this.#current = current;
    void this.#readReports();
    this.#listen();
    void this.#process.wait().then((end) => this.#die(end));
    const ending = await current.ended;
    if (ending.kind === "reported") return;
    await this.close();
    this.remove();
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
    while (this.#end.isOpen && this.#isListening) {
      await readable(this.#channel.master);
      // A terminal gives a piece at a time, and to look for another waits: we are told of it.
      this.#drain(1);
      // The end of a short command is there by now: to be woken up for it takes longer than to look.
      if (this.#current !== null) this.#readReport();
      this.lookOn();
    }
  }

  #drain(reads: number): void {
    if (!this.#end.drain(reads, this.#print)) this.#isListening = false;
  }

  async #readReports(): Promise<void> {
    while (this.#end.isOpen) {
      await readable(this.#channel.report);
      if (!this.#readReport()) return;
      this.#listen();
    }
  }

  /** False if there is nothing to read from any more. */
  #readReport(): boolean {
    if (!this.#end.isOpen) return false;
    const count = this.#end.readReport(reportBytes);
    if (count > 0) this.#take(this.#reports.push(reportBytes.subarray(0, count)));
    return count !== 0; // it is no pipe: someone was quicker than we
  }

  #take(reports: readonly Report[]): void {
    for (const { id, status, flags } of reports) {
      const current = this.#current;
      if (current === null || id !== current.id) continue;
      if (flags.includes(REPORT_FLAG.thrown) && !this.#hasBegun(current)) this.#sendAgain(current);
      else this.#finish({ kind: "reported", status, flags });
    }
  }

  /** Thrown before it began, by a signal that was meant for the one before: the shell takes no id twice. */
  #sendAgain(current: Current): void {
    clearTimeout(current.timer);
    current.id = randomId();
    this.#kick(current);
  }

  #hasBegun(current: Current): boolean {
    const begun = current.lastPid === null ? this.#end.readBegun() : null;
    if (begun?.id === current.id) current.lastPid = begun.lastPid;
    return current.lastPid !== null;
  }

  /** Whatever the command printed, has been printed: it is read before its end is told. */
  #finish(ending: Ending): void {
    const current = this.#current!;
    this.#drain(LAST_READS);
    clearTimeout(current.timer);
    if (ending.kind !== "died") this.#hasBegun(current);
    if (current.isLong) this.#end.shrinkText();
    this.#current = null;
    this.#onOutput = null;
    underWay.delete(current);
    current.end(ending);
  }

  #die(end: RoomEnd): void {
    this.#ended = end;
    if (this.#current !== null) this.#finish({ kind: "died", end });
  }

  /** A kick may be lost to a late signal, or to a program inside that reads the pipe. */
  #kick(current: Current): void {
    this.#end.kick(new TextEncoder().encode(`${current.kind}${current.id}\n`));
    current.timer = setTimeout(() => this.#kickAgain(current), RESEND_MS);
  }

  #kickAgain(current: Current): void {
    if (this.#current !== current || this.#hasBegun(current)) return;
    if (++current.resends > RESENDS) return this.#finish({ kind: "deaf" });
    this.signal(SIGCONT); // it may have been stopped
    if (current.resends > CALLS_BACK_AFTER) this.callBack();
    this.#kick(current);
  }
}

function toCurrent(id: string, kind: string, isLong: boolean): Current {
  const { promise, resolve } = Promise.withResolvers<Ending>();
  return {
    id,
    kind,
    isLong,
    at: performance.now(),
    lastPid: null,
    ended: promise,
    resends: 0,
    timer: 0,
    end: resolve,
  };
}

function randomId(): string {
  return crypto.getRandomValues(new Uint8Array(4)).toHex();
}
