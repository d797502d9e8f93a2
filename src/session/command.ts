/** A command of a session that runs, from its start to its result. */
import { GoneError } from "../errors.ts";
import type { Bash, Ending, Kind, Sent } from "./bash.ts";
import { CHANNEL_LOST, REPORT_FLAG } from "./driver.ts";
import type { RunResult, SessionOutcome, StopReason } from "./outcome.ts";
import type { OutputLimit } from "./head_tail.ts";
import { DEFAULT_LIMIT, type Output, OutputRecord } from "./output.ts";
import type { Room } from "./room.ts";
import { stop, within } from "./stop.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** What ends a command, and what is kept of its output. */
export interface CommandOptions {
  readonly timeoutMs?: number | null;
  /** How long it may print nothing. */
  readonly noOutputMs?: number | null;
  readonly output?: OutputLimit;
  /** How much it may print. */
  readonly maxTotalBytes?: number | null;
  /** Told of each piece of output and its offset; a piece is lent for the call. */
  readonly onOutput?: (bytes: Bytes, offset: number) => void;
}

/** Where it runs. */
export interface Place {
  readonly room: Room;
  readonly bash: Bash;
  /** The variable that all programs of the session have, `K=V`. */
  readonly mark: string;
}

/** What is known once it has ended; whether its shell is replaced, is for others to say. */
export interface CommandEnd {
  readonly outcome: SessionOutcome;
  readonly output: Output;
  readonly isShellLost: boolean;
  readonly hasLostVariables: boolean;
  readonly ended: RunResult["ended"];
  /** Whether SIGINT did not end it. */
  readonly wasKilled: boolean;
  /** Whether a SIGINT of ours may still be on its way. */
  readonly wasSignaled: boolean;
}

const SIGINT_STATUS = 130;

/** A command that runs. */
export class Command {
  readonly sent: Sent;
  readonly #place: Place;
  readonly #options: CommandOptions;
  readonly #isInteractive: boolean;
  readonly #record: OutputRecord;
  #reason: StopReason | null = null;
  #stopping: Promise<void> | null = null;
  readonly #over: Promise<unknown>;
  #wasInterrupted = false;
  #hasEnded = false;
  #wasKilled = false;
  #lastOutputAt = performance.now();
  readonly #timers = new Set<number>();

  /** Sends it. @throws {SetupError} If it cannot be sent. */
  constructor(place: Place, text: Bytes, options: CommandOptions & { readonly kind: Kind }) {
    this.#place = place;
    this.#options = options;
    this.#isInteractive = options.kind.hasInput;
    this.#record = new OutputRecord(options.output ?? DEFAULT_LIMIT, options.onOutput);
    this.sent = place.bash.send(text, options.kind, (bytes) => this.#take(bytes));
    this.#over = this.sent.ended.then(() => {
      this.#hasEnded = true;
    });
    const { timeoutMs = null, noOutputMs = null } = options;
    if (timeoutMs !== null) this.#after(timeoutMs, () => this.stop("timedOut"));
    if (noOutputMs !== null) this.#watchOutput(noOutputMs);
  }

  /** Resolves once it has ended and nothing of it is left. @throws {GoneError} With the sandbox. */
  async end(): Promise<CommandEnd> {
    if (!this.#isInteractive) this.#place.bash.lookOn();
    const ending = await this.sent.ended;
    for (const timer of this.#timers) clearTimeout(timer);
    await this.#stopping;
    if (ending.kind === "died" && !this.#place.room.isAlive) {
      throw new GoneError("Cannot run in the session: the sandbox has ended");
    }
    return this.#toEnd(ending);
  }

  /** Whether it has been sent a SIGINT, or more. */
  get wasSignaled(): boolean {
    return this.#wasInterrupted || this.#stopping !== null;
  }

  /** Ends it; the first reason stands. */
  stop(reason: StopReason): void {
    if (this.#stopping !== null || this.#hasEnded) return;
    this.#reason = reason;
    this.#forceEnd(false);
  }

  /**
   * Interrupts it: SIGINT as often as is said, and if it does not end by that, by force.
   *
   * @param isOver Says that this is enough: the program is where it was wanted.
   */
  async interrupt(
    { timeoutMs, retries }: { readonly timeoutMs: number; readonly retries: number },
    isOver: (timeoutMs: number) => Promise<boolean> = (ms) => within(this.#over, ms),
  ): Promise<void> {
    if (this.#stopping !== null) return await this.#stopping;
    this.#wasInterrupted = true;
    if (!this.#isInteractive) this.#record.holdNewlines(); // else one may be waited for
    await this.#place.bash.begun(timeoutMs);
    for (let i = 0; i < Math.max(1, retries); i++) {
      if (this.#hasEnded) return; // a signal would hit the next one
      this.#place.bash.interrupt();
      if (!await isOver(timeoutMs)) continue;
      if (!this.#hasEnded) this.#wasInterrupted = false; // it goes on
      return;
    }
    if (!this.#hasEnded) this.#forceEnd(true);
    await this.#stopping;
  }

  #forceEnd(wasAsked: boolean): void {
    this.#record.holdNewlines();
    const onKill = () => this.#wasKilled = true;
    this.#stopping ??= stop({ ...this.#place, sent: this.sent }, { wasAsked, onKill });
    this.#stopping.catch(() => {}); // told by end()
  }

  #take(bytes: Bytes): void {
    this.#lastOutputAt = performance.now();
    this.#record.push(bytes);
    const { maxTotalBytes = null } = this.#options;
    if (maxTotalBytes !== null && this.#record.totalBytes > maxTotalBytes) this.stop("outputLimit");
  }

  #watchOutput(ms: number): void {
    const left = this.#lastOutputAt + ms - performance.now();
    if (left <= 0) return this.stop("noOutput");
    this.#after(left, () => this.#watchOutput(ms));
  }

  #after(ms: number, act: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      act();
    }, Math.ceil(ms));
    this.#timers.add(timer);
  }

  #toEnd(ending: Ending): CommandEnd {
    const flags = ending.kind === "reported" ? ending.flags : "";
    const output = this.#record.finish(flags.includes(REPORT_FLAG.thrown));
    const isStopped = this.#stopping !== null;
    const common = {
      output,
      hasLostVariables: flags.includes(REPORT_FLAG.executed),
      wasSignaled: this.wasSignaled,
      wasKilled: this.#wasKilled,
      isShellLost: false,
      ended: null,
    };
    if (ending.kind === "deaf") {
      return { ...common, outcome: { kind: "timedOut" }, isShellLost: true };
    }
    if (ending.kind === "reported") {
      return { ...common, outcome: this.#toOutcome(ending.status, flags, output) };
    }
    if (isStopped) {
      return { ...common, outcome: this.#stoppedOutcome(), isShellLost: true };
    }
    const { status, signal } = ending.end;
    if (status === CHANNEL_LOST) {
      throw new GoneError("Cannot run in the session: a program inside removed its channel");
    }
    const outcome: SessionOutcome = signal === null
      ? { kind: "exited", code: status! }
      : { kind: "signaled", signal };
    return { ...common, outcome, ended: ending.end };
  }

  #toOutcome(status: number, flags: string, output: Output): SessionOutcome {
    if (flags.includes(REPORT_FLAG.syntax)) {
      return { kind: "syntaxError", message: new TextDecoder().decode(output.head) };
    }
    if (this.#stopping !== null) return this.#stoppedOutcome();
    if (this.#wasInterrupted && status === SIGINT_STATUS) return { kind: "interrupted" };
    return { kind: "exited", code: status };
  }

  #stoppedOutcome(): SessionOutcome {
    return { kind: this.#reason ?? "interrupted" };
  }
}
