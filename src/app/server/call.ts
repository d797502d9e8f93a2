/** What a method knows of the call it answers. */

/** Who calls: one connection. What it made ends with it, unless that is detached. */
export interface Caller {
  /** Aborted when it has gone. */
  readonly gone: AbortSignal;
  /** Sends a notification; resolves when there is room for the next. */
  notify(method: string, params: unknown): Promise<void>;
}

/** One call. */
export interface Call {
  readonly caller: Caller;
  /** Aborted when the caller cancels it, or has gone. */
  readonly signal: AbortSignal;
}
