/** What each file in `peer/` gives: another way to run a command. */
import type { Context } from "./context.ts";

/** A way to run a command. */
export interface Peer {
  readonly name: string;
  /** What it does with a command, in a few words. */
  readonly what: string;
  /**
   * Prepares, and gives the whole command line for a command.
   *
   * @throws {Error} If it cannot be used on this machine: it is skipped then.
   */
  readonly prepare: (context: Context) => Promise<CommandLine>;
}

/** Gives the whole command line for a command. */
export type CommandLine = (command: readonly string[]) => readonly string[];
