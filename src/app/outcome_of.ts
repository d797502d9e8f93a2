/** Tells how a command ended from what the kernel says of it. */
import { signalName, type Usage, type Waited } from "../sandbox/mod.ts";
import type { Outcome, Reached } from "./outcome.ts";

/** Signals by which the kernel ends a process that has reached a limit of its own. */
const BY_SIGNAL: Readonly<Record<string, "cpuTimeLimit" | "fileSizeLimit">> = {
  SIGXCPU: "cpuTimeLimit",
  SIGXFSZ: "fileSizeLimit",
};

const BY_PLACE: Readonly<Record<string, Reached>> = {
  "/": "diskFull",
  "/tmp": "tmpFull",
  "/run": "tmpFull", // of the same size
  "/dev/shm": "shmFull",
};

/** Why we ended a command. */
export type EndReason = "timedOut" | "noOutput" | "cancelled" | "outputLimit";

/** What was used of what is limited. */
export interface Used {
  readonly usage: Usage;
  /** The places that are full. */
  readonly fullPlaces: readonly string[];
}

/** A shell tells of a signal by its exit status: this much and the signal's number. */
const SHELL_SIGNAL = 128;

/**
 * Makes the outcome.
 *
 * @param reason Why we ended it, if we did.
 * @param used What was used of what is limited.
 */
export function toOutcome(
  { status, signal }: Pick<Waited, "status" | "signal">,
  reason: EndReason | null,
  used: Used,
): Outcome {
  if (reason === "outputLimit") {
    return { kind: reason, code: null, signal: "SIGKILL", reached: [reason, ...reachedBy(used)] };
  }
  if (reason !== null) return { kind: reason, code: null, signal: null, reached: reachedBy(used) };
  const number = signal ?? (status! > SHELL_SIGNAL ? status! - SHELL_SIGNAL : 0);
  const bySignal = BY_SIGNAL[signalName(number)];
  const reached: Reached[] = [
    ...reachedBy(used),
    ...(bySignal === undefined ? [] : [bySignal]),
  ];
  if (signal === null) return { kind: "exited", code: status, signal: null, reached };
  const name = signalName(signal);
  const isOutOfMemory = name === "SIGKILL" && reached.includes("outOfMemory");
  const kind = isOutOfMemory ? "outOfMemory" : BY_SIGNAL[name] ?? "signaled";
  return { kind, code: null, signal: name, reached };
}

function reachedBy({ usage, fullPlaces }: Used): Reached[] {
  const places = new Set(fullPlaces.map((place) => BY_PLACE[place]!));
  return [
    ...(usage.outOfMemory > 0 ? ["outOfMemory" as const] : []),
    ...(usage.pidsRefused > 0 ? ["pidsLimit" as const] : []),
    ...places,
  ];
}
