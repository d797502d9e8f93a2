/** How much one archive may unpack to. */

/** The most that is taken from one archive before it is refused. */
export interface UnpackLimits {
  /** Bytes of the tar stream, headers included. */
  readonly maxBytes: number;
  /** Entries of all kinds. */
  readonly maxEntries: number;
  /** Parts of a path. */
  readonly maxDepth: number;
}

/** Far above any environment of today, far below what fills a node. */
export const DEFAULT_LIMITS: UnpackLimits = {
  maxBytes: 64 * 2 ** 30,
  maxEntries: 2_000_000,
  maxDepth: 256,
};
