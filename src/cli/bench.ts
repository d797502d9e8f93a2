/** `minisandbox bench`. */
import type { Subcommand } from "./subcommand.ts";
/** The subcommand. */
export const benchCommand: Subcommand = {
  name: "bench",
  summary: "measure on this host",
  help: "",
  run: () => Promise.resolve(0),
};
