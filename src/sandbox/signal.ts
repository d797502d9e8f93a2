/** Signals by name and by number. */
import { SIGNAL } from "../../ffi/mod.ts";

const names = new Map<number, string>(Object.entries(SIGNAL).map(([name, value]) => [value, name]));

/** The signals that have a name here. */
export type SignalName = keyof typeof SIGNAL;

/** Their names. */
export const SIGNAL_NAMES = Object.keys(SIGNAL) as [SignalName, ...SignalName[]];

/** Gives a signal's name: `9` is `SIGKILL`. */
export function signalName(number: number): string {
  return names.get(number) ?? `SIG${number}`;
}

/** Gives a signal's number, for those that have a name here. */
export function signalNumber(name: SignalName): number {
  return SIGNAL[name];
}
