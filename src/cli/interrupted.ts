/** The end of a subcommand by a signal. */
import { signalNumber } from "../app/signal.ts";

/** A signal ended what was under way: no failure of ours. */
export class Interrupted extends Error {
  /** The exit code that says so. */
  readonly exitCode: number;

  constructor(name: "SIGINT" | "SIGTERM" | "SIGHUP" | "SIGQUIT" | "SIGUSR1" | "SIGUSR2") {
    super(`interrupted by ${name}`);
    this.exitCode = 128 + signalNumber(name);
  }
}
