/** Our side of a pty: what the program prints, what it reads, and its size. */
import { setWindowSize, storeAway } from "../../ffi/mod.ts";
import { duplicate, PipeReader, PipeWriter } from "./pipe.ts";

/** A terminal's size in characters. */
export interface WindowSize {
  readonly rows: number;
  readonly columns: number;
}

/** Our side of a pty. */
export class Terminal {
  readonly output: PipeReader;
  readonly input: PipeWriter;
  readonly #master: number;

  /** Takes the master over. */
  constructor(master: number, size: WindowSize) {
    this.#master = storeAway(master);
    this.resize(size);
    this.input = new PipeWriter(duplicate(this.#master));
    this.output = new PipeReader(this.#master);
  }

  /** Tells the program of a new size (SIGWINCH). */
  resize({ rows, columns }: WindowSize): void {
    if (this.output?.isOpen ?? true) setWindowSize(this.#master, rows, columns);
  }
}
