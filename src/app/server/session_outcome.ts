/** How a command of a session ended, as the protocol tells it. */
import type { SessionOutcome } from "../../session/mod.ts";
import { signalName } from "../signal.ts";

/** All kinds have the same fields. */
export interface SessionOutcomeAnswer {
  readonly kind: SessionOutcome["kind"];
  readonly code: number | null;
  readonly signal: string | null;
  readonly message: string | null;
}

/** Gives every field of every kind. */
export function toSessionOutcome(outcome: SessionOutcome): SessionOutcomeAnswer {
  return {
    kind: outcome.kind,
    code: outcome.kind === "exited" ? outcome.code : null,
    signal: outcome.kind === "signaled" ? signalName(outcome.signal) : null,
    message: outcome.kind === "syntaxError" ? outcome.message : null,
  };
}
