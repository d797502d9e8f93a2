/** The file that `run` writes how it ended to. */
import { messageOf, UsageError } from "../errors.ts";

/**
 * It is opened before anything runs: by the end a program inside may have put a link in its place,
 * where it lies in a directory that is bound.
 */
export class OutcomeFile implements Disposable {
  readonly #file: Deno.FsFile | null;

  /**
   * Opens and empties the file.
   *
   * @param path Undefined for none.
   * @throws {UsageError} If it cannot be written.
   */
  static open(path: string | undefined): OutcomeFile {
    if (path === undefined) return new OutcomeFile(null);
    try {
      return new OutcomeFile(
        Deno.openSync(path, { write: true, create: true, truncate: true }),
      );
    } catch (error) {
      throw new UsageError(`Cannot write the outcome to "${path}": ${messageOf(error)}`);
    }
  }

  private constructor(file: Deno.FsFile | null) {
    this.#file = file;
  }

  /** Writes an outcome. */
  write(outcome: unknown): void {
    const bytes = new TextEncoder().encode(JSON.stringify(outcome, null, 2) + "\n");
    for (let at = 0; this.#file !== null && at < bytes.length;) {
      at += this.#file.writeSync(bytes.subarray(at));
    }
  }

  /** Closes it. */
  [Symbol.dispose](): void {
    this.#file?.close();
  }
}
