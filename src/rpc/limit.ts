/** What one connection may use. */

const MIB = 1 << 20;

/** The bounds of one connection. */
export interface RpcLimits {
  /** The longest message; a longer one is skipped, and answered with an error. */
  readonly maxMessageBytes: number;
  /** The most messages in a batch. */
  readonly maxBatch: number;
  /** How many of a batch run at once. */
  readonly maxBatchRunning: number;
  /** While so many requests have no answer yet, further ones are told "busy". */
  readonly maxInFlight: number;
  /** The same, by the bytes of the requests. */
  readonly maxInFlightBytes: number;
  /** While so much waits to be written, answers are held back and nothing is read. */
  readonly maxQueuedBytes: number;
  /** How long requests may go on after the end of the input, and then again once told to end. */
  readonly graceMs: number;
}

/** The limits of a connection that sets none. */
export const DEFAULT_LIMITS: RpcLimits = {
  maxMessageBytes: 64 * MIB,
  maxBatch: 16_384,
  maxBatchRunning: 256,
  maxInFlight: 4096,
  maxInFlightBytes: 256 * MIB,
  maxQueuedBytes: 4 * MIB,
  graceMs: 1000,
};
