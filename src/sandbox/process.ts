/** A program in a sandbox, as its parent sees it. */
import {
  closeQuietly,
  isErrno,
  pidfdOpen,
  pidfdSendSignal,
  poll,
  readable,
  storeAway,
  type Waited,
} from "../../ffi/mod.ts";
import { delay } from "@std/async/delay";

export type { Waited };

/** How often a process that has ended, but is held back, is asked for. */
const HELD_BACK_MS = 20;

/** A process that we started inside. */
export class Process {
  /** The host's process id. */
  readonly pid: number;
  readonly #pidfd: number;
  readonly #onEnd: (ended: Process) => void;
  #ended: Promise<Waited> | undefined;
  #isReaped = false;

  constructor(pid: number, onEnd: (ended: Process) => void) {
    this.pid = pid;
    this.#pidfd = storeAway(pidfdOpen(pid));
    this.#onEnd = onEnd;
  }

  /** Resolves when it has ended, with how; it is reaped once. */
  wait(): Promise<Waited> {
    this.#ended ??= this.#reap();
    return this.#ended;
  }

  async #reap(): Promise<Waited> {
    await readable(this.#pidfd);
    const waited = await reap(this.pid);
    this.#isReaped = true;
    closeQuietly(this.#pidfd);
    this.#onEnd(this);
    return waited;
  }

  /** Its id inside, or null once it has been reaped (proc(5), /proc/pid/fdinfo). */
  readInsidePid(): number | null {
    if (this.#isReaped) return null;
    const info = Deno.readTextFileSync(`/proc/self/fdinfo/${this.#pidfd}`);
    const ids = /^NSpid:\s+(.*)$/m.exec(info)?.[1]?.split(/\s+/) ?? [];
    const pid = Number(ids.at(-1) ?? -1);
    return pid > 0 ? pid : null;
  }

  /** Sends a signal; false if it has ended already. */
  signal(signal: number): boolean {
    if (this.#isReaped) return false; // its descriptor may be another's by now
    try {
      pidfdSendSignal(this.#pidfd, signal);
      return true;
    } catch (error) {
      if (isErrno(error, "ESRCH", "EBADF")) return false;
      throw error;
    }
  }
}

/**
 * Reaps a process that has ended. Another one inside can hold it back by having traced it, until that
 * ends too (ptrace(2)): to block until then would be in its power.
 */
async function reap(pid: number): Promise<Waited> {
  for (;;) {
    const waited = poll(pid);
    if (waited !== null) return waited;
    await delay(HELD_BACK_MS);
  }
}
