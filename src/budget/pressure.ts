/** How much of the time tasks of this machine wait for a disk, as the kernel tells (PSI). */

const FILE = "/proc/pressure/io";

/**
 * Parses `/proc/pressure/io` for the time in which some task waited, in microseconds since the start
 * of the machine; null if it tells none. Its averages are of no use here: the shortest spans 10 s.
 */
export function parsePressure(text: string): number | null {
  const [, total] = /^some .*\btotal=(\d+)$/m.exec(text) ?? [];
  return total === undefined ? null : Number(total);
}

/** Measures the pressure between two looks. */
export class Pressure {
  readonly #file: string;
  #lastUs: number | null;
  #lastMs: number;

  constructor(file: string = FILE) {
    this.#file = file;
    this.#lastUs = this.#read();
    this.#lastMs = performance.now();
  }

  /** Says whether this kernel tells of it at all. */
  get isKnown(): boolean {
    return this.#lastUs !== null;
  }

  /** Gives the share of time, since the last look, in which some task waited; null if unknown. */
  take(): number | null {
    const us = this.#read();
    const ms = performance.now();
    const share = us === null || this.#lastUs === null
      ? null
      : Math.min(1, Math.max(0, (us - this.#lastUs) / 1000 / Math.max(1, ms - this.#lastMs)));
    this.#lastUs = us;
    this.#lastMs = ms;
    return share;
  }

  #read(): number | null {
    try {
      return parsePressure(Deno.readTextFileSync(this.#file));
    } catch {
      return null; // no such file, or a kernel that was started with psi=0
    }
  }
}
