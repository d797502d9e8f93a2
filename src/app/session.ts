/** Use case: a session in a sandbox. */
import {
  openChannel,
  type Process,
  type Program,
  removeChannel,
  type Sandbox,
} from "../sandbox/mod.ts";
import {
  type Room,
  type RoomChannel,
  type RoomProcess,
  type RoomProcesses,
  type RoomProgram,
  Shell,
  type ShellOptions,
} from "../session/mod.ts";

/**
 * What keeps programs from asking a person, who is not there: an editor that takes the text as it is,
 * so that `git commit` without a message ends by saying so, and pagers that only print.
 */
export const QUIET: Readonly<Record<string, string>> = {
  GIT_EDITOR: "true",
  GIT_PAGER: "cat",
  GIT_TERMINAL_PROMPT: "0",
  MANPAGER: "cat",
  PAGER: "cat",
};

/** Whose shell it is and what it starts from: a program of which the command does not matter. */
export type SessionProgram = Omit<Program, "argv" | "pty" | "hasStdin">;

/**
 * Opens a session in a sandbox, with the user, directory and variables of a program.
 *
 * @throws {CommandError} If there is no bash inside.
 * @throws {SetupError} If the shell is not ready in time.
 * @throws {GoneError} If the sandbox has ended.
 */
export async function openSession(
  sandbox: Sandbox,
  program: SessionProgram,
  options: ShellOptions = {},
): Promise<Shell> {
  return await Shell.open(new SandboxRoom(sandbox, program), options);
}

/** A sandbox as sessions see it. */
class SandboxRoom implements Room {
  readonly #sandbox: Sandbox;
  readonly #program: SessionProgram;

  constructor(sandbox: Sandbox, program: SessionProgram) {
    this.#sandbox = sandbox;
    this.#program = program;
  }

  get isAlive(): boolean {
    return this.#sandbox.isAlive;
  }

  openChannel(): RoomChannel {
    return openChannel(this.#sandbox, this.#program);
  }

  removeChannel(dir: string): void {
    removeChannel(this.#sandbox, dir);
  }

  openProcesses(): RoomProcesses {
    return this.#sandbox.openProcessTable();
  }

  async start({ argv, env, ptyNumber }: RoomProgram): Promise<RoomProcess> {
    const known = Object.fromEntries(this.#program.env.map((pair) => {
      const at = pair.indexOf("=");
      return [pair.slice(0, at), pair.slice(at + 1)];
    }));
    const all = { ...QUIET, ...known, ...env };
    const process = await this.#sandbox.start({
      ...this.#program,
      argv,
      env: Object.entries(all).map(([name, value]) => `${name}=${value}`),
      pty: ptyNumber,
      hasStdin: false,
    }, {});
    return toRoomProcess(process);
  }
}

function toRoomProcess(process: Process): RoomProcess {
  return {
    pid: process.readInsidePid() ?? 0, // of one that has ended already, nothing is left to find
    wait: async () => {
      const { status, signal } = await process.wait();
      return { status, signal };
    },
    signal: (signal) => process.signal(signal),
  };
}
