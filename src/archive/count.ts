/** What one archive came to. */

/** How many of a list are named in a summary. */
const NAMED = 5;

/** What was unpacked, and what could not be kept. */
export interface Counts {
  entries: number;
  /** The bytes of all files, without holes. */
  bytes: number;
  files: number;
  directories: number;
  symlinks: number;
  links: number;
  fifos: number;
  whiteouts: number;
  /** Entries whose owner or group could not be held here, and so became root's. */
  ownersLost: number;
  /** Extended attributes that were not kept. */
  xattrsLost: number;
  /** Devices that were left out. */
  devicesLost: number;
  /** The first few of each, as `name: what was lost`. */
  readonly lost: string[];
}

/** Gives counts that are all 0. */
export function noCounts(): Counts {
  return {
    entries: 0,
    bytes: 0,
    files: 0,
    directories: 0,
    symlinks: 0,
    links: 0,
    fifos: 0,
    whiteouts: 0,
    ownersLost: 0,
    xattrsLost: 0,
    devicesLost: 0,
    lost: [],
  };
}

/** Counts a loss and names it if it is among the first of its kind. */
export function countLoss(
  counts: Counts,
  kind: "ownersLost" | "xattrsLost" | "devicesLost",
  describe: () => string,
): void {
  if (++counts[kind] <= NAMED) counts.lost.push(describe());
}
