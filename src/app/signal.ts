/** Signals, for the command line. */
export { signalName, signalNumber } from "../sandbox/mod.ts";
