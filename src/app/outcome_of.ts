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
  "/dev/shm": "shmFull",
};

/** A shell tells of a signal by its exit status: this much and the signal's number. */
const SHELL_SIGNAL = 128;

/**
 * Makes the outcome.
 *
 * @param reason Why we ended it, if we did.
 * @param used What was used of what is limited; null if nothing is known of it.
 */
export function toOutcome(
  { status, signal }: Pick<Waited, "status" | "signal">,
  reason: "timedOut" | "outputLimit" | null,
  used: { readonly usage: Usage; readonly fullPlaces: readonly string[] } | null,
): Outcome {
  if (reason !== null) {
    const isTimeOut = reason === "timedOut";
    const reached: Reached[] = isTimeOut ? [] : [reason];
    return { kind: reason, code: null, signal: isTimeOut ? null : "SIGKILL", reached };
  }
  const number = signal ?? (status! > SHELL_SIGNAL ? status! - SHELL_SIGNAL : 0);
  const bySignal = BY_SIGNAL[signalName(number)];
  const reached: Reached[] = [
    ...(used !== null && used.usage.outOfMemory > 0 ? ["outOfMemory" as const] : []),
    ...(used !== null && used.usage.pidsRefused > 0 ? ["pidsLimit" as const] : []),
    ...(used?.fullPlaces ?? []).map((place) => BY_PLACE[place]!),
    ...(bySignal === undefined ? [] : [bySignal]),
  ];
  if (signal === null) return { kind: "exited", code: status, signal: null, reached };
  const name = signalName(signal);
  const isOutOfMemory = name === "SIGKILL" && reached.includes("outOfMemory");
  const kind = isOutOfMemory ? "outOfMemory" : BY_SIGNAL[name] ?? "signaled";
  return { kind, code: null, signal: name, reached };
}
