/** How much may be sent to a reader before it asks for more. */

/** A count of bytes that is taken from and given to. */
export class Credit {
  #bytes: number;
  #isOpen = true;
  #wake: (() => void) | null = null;

  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  /** Waits until there is some, and takes so much: one chunk may be more than was left. */
  async take(bytes: number): Promise<void> {
    while (this.#isOpen && this.#bytes <= 0) {
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
    this.#bytes -= bytes;
  }

  /** Gives more. */
  give(bytes: number): void {
    this.#bytes += bytes;
    this.#wake?.();
  }

  /** Holds nobody back any more. */
  close(): void {
    this.#isOpen = false;
    this.#wake?.();
  }
}
