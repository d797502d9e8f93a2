/** `minisandbox doctor`. */
import type { Subcommand } from "./subcommand.ts";
/** The subcommand. */
export const doctorCommand: Subcommand = {
  name: "doctor",
  summary: "say what this host can do",
  help: "",
  run: () => Promise.resolve(0),
};
