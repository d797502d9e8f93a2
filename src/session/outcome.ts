/** How a command of a session ended, as a value. */
import type { Output } from "./output.ts";
import type { RoomEnd } from "./room.ts";

/** How a command ended. */
export type SessionOutcome =
  | { readonly kind: "exited"; readonly code: number }
  /** The shell itself was ended by a signal. */
  | { readonly kind: "signaled"; readonly signal: number }
  | { readonly kind: "timedOut" }
  /** It printed nothing for too long. */
  | { readonly kind: "noOutput" }
  | { readonly kind: "outputLimit" }
  | { readonly kind: "interrupted" }
  /** It is no valid shell, in bash's words; nothing of it was executed. */
  | { readonly kind: "syntaxError"; readonly message: string };

/** Why we ended a command. */
export type StopReason = "timedOut" | "noOutput" | "outputLimit";

/** What a command came to. */
export interface RunResult {
  readonly outcome: SessionOutcome;
  /** What it printed; for an interactive program what nobody has been given yet. */
  readonly output: Output;
  /** What was printed in the background since the command before. */
  readonly before: Output;
  /** Whether the shell is a new one: its directory and exports are the old one's, no more. */
  readonly restarted: boolean;
  /** Whether it took no notice of being interrupted, and was ended by force. */
  readonly wasKilled: boolean;
  /** How the shell ended, if it did: the session is over. */
  readonly ended: RoomEnd | null;
}
