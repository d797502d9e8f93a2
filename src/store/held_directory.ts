/** A directory that stays the same one, whatever becomes of its name. */
import { AT, close, O, openAt } from "../../ffi/mod.ts";

/** A directory of the caller's, held open: who may rename it cannot put another in its place. */
export class HeldDirectory implements Disposable {
  readonly #fd: number;

  /**
   * Opens a directory.
   *
   * @throws {SyscallError} If it is none, or may not be opened.
   */
  constructor(path: string) {
    this.#fd = openAt(AT.AT_FDCWD, path, O.O_PATH | O.O_DIRECTORY | O.O_CLOEXEC);
  }

  /** A path by which this process reaches it. */
  get path(): string {
    return `/proc/self/fd/${this.#fd}`;
  }

  /** Lets it go. */
  [Symbol.dispose](): void {
    close(this.#fd);
  }
}
