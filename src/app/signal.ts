/** Signals, for the command line. */
export { SIGNAL_NAMES, type SignalName, signalName, signalNumber } from "../sandbox/mod.ts";
