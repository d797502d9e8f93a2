/** How fast the reservations of a node get done. */
import type { Entry } from "./ledger.ts";

/** Measures bytes a second between two looks at the ledger. */
export class Meter {
  #seen = new Map<string, Entry>();
  #lastMs = -Infinity;

  /** Gives the bytes a second since the last look; 0 at the first. */
  take(entries: readonly Entry[], nowMs: number): number {
    const seen = new Map(entries.map((entry) => [entry.name, entry]));
    let bytes = 0;
    for (const { name, done } of entries) bytes += done - (this.#seen.get(name)?.done ?? 0);
    for (const [name, entry] of this.#seen) {
      if (!seen.has(name)) bytes += entry.bytes - entry.done; // it was done to its end
    }
    const seconds = (nowMs - this.#lastMs) / 1000;
    this.#seen = seen;
    this.#lastMs = nowMs;
    return seconds > 0 && Number.isFinite(seconds) ? bytes / seconds : 0;
  }
}
