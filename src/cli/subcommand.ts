/** What each file of a subcommand gives. */

/** A subcommand of `minisandbox`. */
export interface Subcommand {
  /** Its name, as typed. */
  readonly name: string;
  /** One line for the list of subcommands. */
  readonly summary: string;
  /** What `--help` prints. */
  readonly help: string;
  /**
   * Does it.
   *
   * @param argv The arguments after its name.
   * @returns The exit code.
   */
  readonly run: (argv: readonly string[]) => Promise<number>;
}
