/** The processes inside a sandbox, as its own procfs shows them. */
import { AT, closeQuietly, isErrno, O, openAt, pidfdSendSignal } from "../../ffi/mod.ts";

/** A process inside. */
export interface ProcessEntry {
  /** Its id inside. */
  readonly pid: number;
  /** Its parent's; 0 if that is not inside. */
  readonly parent: number;
  /** The session it belongs to, by its leader's id. */
  readonly session: number;
  /** Whether it has ended, but has not been reaped. */
  readonly isDead: boolean;
  /** Whether none of its threads runs: it was stopped, is traced, or has ended. */
  readonly isStopped: boolean;
  /** When it began, in hundredths of a second since the machine did. */
  readonly startTicks: number;
}

/** So much of a process's variables is looked at. */
const ENVIRONMENT_BYTES = 64 * 1024;

/** The table of one moment after the other; it is to be disposed of. */
export class ProcessTable implements Disposable {
  readonly #proc: number;

  /** @param proc Its /proc, opened as a path. */
  constructor(proc: number) {
    this.#proc = proc;
  }

  /** Lists the ids of those that there are. */
  pids(): number[] {
    return [...Deno.readDirSync(this.#path(""))].map(({ name }) => Number(name))
      .filter((pid) => !Number.isNaN(pid));
  }

  /** Reads what one is; null if it is gone. */
  read(pid: number): ProcessEntry | null {
    const stat = readText(this.#path(`${pid}/stat`));
    const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (fields === undefined) return null;
    const [state = "", parent, , session] = fields;
    return {
      pid,
      parent: Number(parent),
      session: Number(session),
      isDead: state === "Z" || state === "X",
      isStopped: Number(fields[17]) > 1 ? this.#areStopped(pid) : isStopped(state),
      startTicks: Number(fields[19]),
    };
  }

  /** Says whether one was started with a variable, `K=V`. */
  hasVariable(pid: number, variable: string): boolean {
    const variables = readText(this.#path(`${pid}/environ`), ENVIRONMENT_BYTES);
    return variables?.split("\0").includes(variable) ?? false;
  }

  /** Sends a signal; false if there is none of that id, or it has ended. */
  signal(pid: number, signal: number): boolean {
    let fd: number;
    try {
      fd = openAt(AT.AT_FDCWD, this.#path(String(pid)), O.O_DIRECTORY | O.O_CLOEXEC);
    } catch (error) {
      if (isErrno(error, "ENOENT", "ESRCH")) return false;
      throw error;
    }
    try {
      pidfdSendSignal(fd, signal);
      return true;
    } catch (error) {
      if (isErrno(error, "ESRCH")) return false;
      throw error;
    } finally {
      closeQuietly(fd);
    }
  }

  /** Says whether no thread of a process runs. */
  #areStopped(pid: number): boolean {
    return this.#threads(pid).every((thread) => {
      const stat = readText(this.#path(`${pid}/task/${thread}/stat`));
      return stat === null || isStopped(stat[stat.lastIndexOf(")") + 2]!);
    });
  }

  #threads(pid: number): string[] {
    try {
      return [...Deno.readDirSync(this.#path(`${pid}/task`))].map(({ name }) => name);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return [];
      if (error instanceof Error && isGone(error)) return [];
      throw error;
    }
  }

  [Symbol.dispose](): void {
    closeQuietly(this.#proc);
  }

  #path(name: string): string {
    return `/proc/self/fd/${this.#proc}/${name}`;
  }
}

/** The states in which nothing is done (proc_pid_stat(5)). */
function isStopped(state: string): boolean {
  return ["T", "t", "Z", "X"].includes(state);
}

const scratch = new Uint8Array(ENVIRONMENT_BYTES);

/** Null if the process is gone, or its text is closed to us. */
function readText(path: string, limit = 4096): string | null {
  try {
    using file = Deno.openSync(path);
    const count = file.readSync(scratch.subarray(0, limit));
    return new TextDecoder().decode(scratch.subarray(0, count ?? 0));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.PermissionDenied) {
      return null;
    }
    if (error instanceof Error && isGone(error)) return null;
    throw error;
  }
}

/** It has ended between two calls. */
function isGone({ message }: Error): boolean {
  return /ESRCH|os error 3\b/.test(message);
}
