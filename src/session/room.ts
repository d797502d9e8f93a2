/** What a session needs of the place where its shell runs. */

/** The place: a sandbox, to which whoever joins the two ties it. */
export interface Room {
  /** Whether it has not ended. */
  readonly isAlive: boolean;
  /** Opens a pty and a channel; what is open is the caller's to close. @throws {SetupError} */
  openChannel(): RoomChannel;
  /** Removes what a channel left inside. */
  removeChannel(dir: string): void;
  /** Starts a program on a pty of its own. @throws {CommandError} If it is missing. */
  start(program: RoomProgram): Promise<RoomProcess>;
  /** Opens the table of the processes inside. */
  openProcesses(): RoomProcesses;
}

/** A channel beside a pty; descriptors of ours, by paths that a program opens. */
export interface RoomChannel {
  /** Its directory inside, with the files of the same names. */
  readonly dir: string;
  readonly master: number;
  readonly ptyNumber: number;
  readonly kick: number;
  readonly report: number;
  readonly text: number;
  readonly driver: number;
}

/** A program on a pty. */
export interface RoomProgram {
  readonly argv: readonly [string, ...string[]];
  /** Variables beside those that every program has. */
  readonly env: Readonly<Record<string, string>>;
  readonly ptyNumber: number;
}

/** How a process ended. */
export interface RoomEnd {
  readonly status: number | null;
  readonly signal: number | null;
}

/** The program, once it runs. */
export interface RoomProcess {
  /** Its id inside. */
  readonly pid: number;
  wait(): Promise<RoomEnd>;
  signal(signal: number): boolean;
}

/** A process inside. */
export interface RoomProcessEntry {
  readonly pid: number;
  /** 0 if its parent is not inside. */
  readonly parent: number;
  readonly session: number;
  readonly isDead: boolean;
  /** In hundredths of a second since the machine began. */
  readonly startTicks: number;
}

/** The processes inside. */
export interface RoomProcesses extends Disposable {
  pids(): number[];
  /** Null if it is gone. */
  read(pid: number): RoomProcessEntry | null;
  hasVariable(pid: number, variable: string): boolean;
  signal(pid: number, signal: number): boolean;
}
