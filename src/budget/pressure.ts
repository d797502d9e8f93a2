/** How much of the time tasks of this machine wait for a disk or a processor, as the kernel tells (PSI). */

const FILES = ["/proc/pressure/io", "/proc/pressure/cpu"];

/**
 * Parses such a file for the time in which some task waited, in microseconds since the start
 * of the machine; null if it tells none. Its averages are of no use here: the shortest spans 10 s.
 */
export function parsePressure(text: string): number | null {
  const [, total] = /^some .*\btotal=(\d+)$/m.exec(text) ?? [];
  return total === undefined ? null : Number(total);
}

/** Measures the pressure between two looks. */
export class Pressure {
  readonly #files: readonly string[];
  #lastUs: readonly (number | null)[];
  #lastMs: number;

  constructor(...files: readonly string[]) {
    this.#files = files.length === 0 ? FILES : files;
    this.#lastUs = this.#files.map(read);
    this.#lastMs = performance.now();
  }

  /** Says whether this kernel tells of it at all. */
  get isKnown(): boolean {
    return this.#lastUs.some((us) => us !== null);
  }

  /**
   * Gives the share of time, since the last look, in which some task waited: for what most was waited
   * for; null if unknown.
   */
  take(): number | null {
    const us = this.#files.map(read);
    const ms = performance.now();
    const shares = us.flatMap((now, i) => {
      const last = this.#lastUs[i] ?? null;
      if (now === null || last === null) return [];
      return Math.min(1, Math.max(0, (now - last) / 1000 / Math.max(1, ms - this.#lastMs)));
    });
    this.#lastUs = us;
    this.#lastMs = ms;
    return shares.length === 0 ? null : Math.max(...shares);
  }
}

function read(file: string): number | null {
  try {
    return parsePressure(Deno.readTextFileSync(file));
  } catch {
    return null; // no such file, or a kernel that was started with psi=0
  }
}
