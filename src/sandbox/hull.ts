/** A sandbox without its root: its namespaces and its init, until it has ended. */
import {
  closeQuietly,
  isErrno,
  pidfdOpen,
  pidfdSendSignal,
  readable,
  SIGNAL,
  storeAway,
  wait,
} from "../../ffi/mod.ts";
import type { Cgroup } from "./cgroup/group.ts";

/** What a hull takes over. */
export interface HullParts {
  /** The user namespace of its programs. */
  readonly user: number;
  readonly cgroup: Cgroup | null;
  /** Whether id 0 exists inside. */
  readonly mapsRoot: boolean;
  /** For how many lowers its template has room. */
  readonly room: number;
}

/** Namespaces whose init runs. */
export class Hull implements HullParts {
  /** The host's id of its init. */
  readonly pid: number;
  readonly pidfd: number;
  readonly user: number;
  readonly cgroup: Cgroup | null;
  readonly mapsRoot: boolean;
  readonly room: number;
  #ended: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(pid: number, { user, cgroup, mapsRoot, room }: HullParts) {
    this.pid = pid;
    this.user = user;
    this.cgroup = cgroup;
    this.mapsRoot = mapsRoot;
    this.room = room;
    this.pidfd = storeAway(pidfdOpen(pid));
  }

  /** Whether its init runs, and is not about to end. */
  get isAlive(): boolean {
    return this.#closing === undefined && !isExiting(this.pid);
  }

  /** Resolves when its init has ended: only once our children inside have been reaped. */
  get ended(): Promise<void> {
    return this.#ended ??= readable(this.pidfd).then(() => {});
  }

  /** Ends every process inside at once. Twice is harmless. */
  kill(): void {
    if (this.#closing !== undefined) return;
    try {
      pidfdSendSignal(this.pidfd, SIGNAL.SIGKILL);
    } catch (error) {
      if (!isErrno(error, "ESRCH")) throw error;
    }
  }

  /** Ends it, and returns when nothing of it is left. Twice is harmless. */
  close(): Promise<void> {
    this.kill();
    return this.#closing ??= this.#end();
  }

  async #end(): Promise<void> {
    await this.ended;
    wait(this.pid);
    closeQuietly(this.pidfd, this.user);
    await this.cgroup?.remove();
  }
}

/** A process that ends is told so by its flags before those inside are ended with it. */
function isExiting(pid: number): boolean {
  const stat = Deno.readTextFileSync(`/proc/${pid}/stat`);
  const [, state, flags] = /\) (.)(?: \S+){5} (\d+)/.exec(stat)!;
  return state === "Z" || (Number(flags) & PF_EXITING) !== 0;
}

/** A flag of a process (proc_pid_stat(5), include/linux/sched.h). */
const PF_EXITING = 0x4;
