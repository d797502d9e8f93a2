/** Processes of ours that keep namespaces: when they run, and by what their namespaces are had. */
import { awaitReadable, closeQuietly, forget, O, openAt, pipe, readable } from "../../ffi/mod.ts";
import { SetupError } from "../errors.ts";
import { CWD } from "./process_step.ts";

/** How long a process of ours may take to start. */
const READY_MS = 10_000;

/** A vfork returns before the execution is complete: the id maps in /proc are not ours until then. */
export class Ready implements Disposable {
  readonly #reader: number;
  #writer: number;

  constructor() {
    const { reader, writer } = pipe(O.O_CLOEXEC);
    this.#reader = reader;
    this.#writer = writer;
  }

  /** What init writes to. */
  get writer(): number {
    return this.#writer;
  }

  /** Waits until init says that it runs, or has ended; false if that takes too long. */
  await(): boolean {
    this.#letGo();
    return awaitReadable(this.#reader, READY_MS);
  }

  /** Waits while this thread goes on, and init may still have to take its end; false if it has ended. */
  async wait(init: number): Promise<boolean> {
    const ended = readable(init).then(() => false);
    const isReady = await Promise.race([readable(this.#reader, READY_MS), ended]);
    forget(init);
    forget(this.#reader);
    return isReady;
  }

  /** From here on only init has it. */
  #letGo(): void {
    closeQuietly(this.#writer);
    this.#writer = -1;
  }

  [Symbol.dispose](): void {
    if (this.#writer >= 0) this.#letGo();
    closeQuietly(this.#reader);
  }
}

/** The error of one that does not run in time. */
export function notReady(what: string): SetupError {
  return new SetupError("execute init", `Cannot start ${what}: not done in ${READY_MS} ms`);
}

/** Opens a namespace of a process. @throws {SyscallError} If it has ended. */
export function openNamespace(pid: number, kind: string): number {
  return openAt(CWD, `/proc/${pid}/ns/${kind}`, O.O_CLOEXEC);
}
