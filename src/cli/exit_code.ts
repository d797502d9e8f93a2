/** What a command's end is as our own exit code. */
import type { Outcome } from "../app/outcome.ts";
import { signalNumber } from "../app/signal.ts";

/** 124 for a time-out, its own status, or 128 and the number of the signal that ended it. */
export function toExitCode({ kind, code, signal }: Outcome): number {
  if (kind === "timedOut") return 124;
  return code ?? 128 + signalNumber((signal ?? "SIGKILL") as "SIGKILL");
}
