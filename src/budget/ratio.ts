/** How much an archive grows when it is unpacked, as the archives so far have shown. */

/** What is taken before any archive was measured: that of a virtual environment. */
const FIRST = 3;

/** How much each archive counts against those before it. */
const WEIGHT = 0.25;

/** Estimates the bytes that an archive will write. */
export class Ratio {
  #ratio = FIRST;

  /** Estimates the unpacked size of an archive, in bytes. */
  estimate(archiveBytes: number): number {
    return Math.max(1, Math.ceil(archiveBytes * this.#ratio));
  }

  /** Takes an archive's true sizes. */
  learn(archiveBytes: number, unpackedBytes: number): void {
    if (archiveBytes <= 0) return;
    this.#ratio += (Math.max(1, unpackedBytes / archiveBytes) - this.#ratio) * WEIGHT;
  }
}
