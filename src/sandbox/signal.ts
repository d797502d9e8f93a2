/** Signals by name and by number. */
import { SIGNAL } from "../../ffi/mod.ts";

const names = new Map<number, string>(Object.entries(SIGNAL).map(([name, value]) => [value, name]));

/** Gives a signal's name: `9` is `SIGKILL`. */
export function signalName(number: number): string {
  return names.get(number) ?? `SIG${number}`;
}

/** Gives a signal's number, for those that have a name here. */
export function signalNumber(name: keyof typeof SIGNAL): number {
  return SIGNAL[name];
}
