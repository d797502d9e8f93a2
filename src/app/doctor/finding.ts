/** What one check of the host came to. */

/** Whether sandboxes can be made (PASS), with something lost (CAUTION), or not at all (FAIL). */
export type Status = "PASS" | "CAUTION" | "FAIL" | "SKIPPED";

/** What one check of the host came to. */
export interface Finding {
  readonly check: string;
  readonly status: Status;
  readonly found: string;
  /** What cannot be had so; null where nothing is lost. */
  readonly lost: string | null;
  /** What mends it: a command, or what to do; null where nothing needs to be mended. */
  readonly remedy: string | null;
}

/** What is lost, and what mends it. */
export interface Cost {
  readonly lost: string;
  readonly remedy: string;
}

/** All is well. */
export function pass(check: string, found: string): Finding {
  return { check, status: "PASS", found, lost: null, remedy: null };
}

/** Sandboxes can be made, but something is lost. */
export function caution(check: string, found: string, cost: Cost): Finding {
  return { check, status: "CAUTION", found, ...cost };
}

/** Sandboxes cannot be made. */
export function fail(check: string, found: string, cost: Cost): Finding {
  return { check, status: "FAIL", found, ...cost };
}

/** There was nothing to check. */
export function skipped(check: string, found: string): Finding {
  return { check, status: "SKIPPED", found, lost: null, remedy: null };
}
