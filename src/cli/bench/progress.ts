/** How far a bench has come: on a terminal one line that is drawn anew, elsewhere a line a case. */
import type { Turn } from "../../app/bench/turn.ts";
import type { ProgressOptions } from "../progress.ts";

const BAR_WIDTH = 16;

/** Shows turns, and lets other lines pass. */
export class BenchProgress implements Disposable {
  readonly #options: ProgressOptions;
  readonly #begin = performance.now();
  #told = "";
  #isDrawn = false;

  constructor(options: ProgressOptions) {
    this.#options = options;
  }

  /** Takes what is measured next. */
  readonly turn = ({ case: name, what, peer, done, total }: Turn): void => {
    const { isTerminal, isPlain, columns = 80, write } = this.#options;
    const title = `${name} ${what}`;
    if (!isTerminal) {
      if (title !== this.#told) this.note(`measuring ${title}`);
      this.#told = title;
      return;
    }
    this.clear();
    const filled = Math.floor(done / Math.max(1, total) * BAR_WIDTH);
    const bar = "█".repeat(filled);
    const seconds = ((performance.now() - this.#begin) / 1000).toFixed(0);
    const text = ` ${title}: ${peer}, turn ${done + 1} of ${total}, ${seconds} s`;
    const rest = "░".repeat(BAR_WIDTH - filled);
    write(
      `${isPlain ? bar : `\x1b[36m${bar}\x1b[0m`}${rest}${text.slice(0, columns - BAR_WIDTH - 1)}`,
    );
    this.#isDrawn = true;
  };

  /** Tells of something. */
  readonly note = (text: string): void => {
    this.clear();
    this.#options.write(`minisandbox: ${text}\n`);
  };

  /** Takes the line away. */
  clear(): void {
    if (this.#isDrawn) this.#options.write("\r\x1b[K");
    this.#isDrawn = false;
  }

  [Symbol.dispose](): void {
    this.clear();
  }
}
