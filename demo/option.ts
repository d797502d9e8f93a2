/** The options of the demo. */
import { join } from "@std/path/join";
import { resolve } from "@std/path/resolve";
import { parseArgs } from "@std/cli/parse-args";
import { UsageError } from "../src/errors.ts";

/** What the user asks of the demo. */
export interface DemoOptions {
  readonly json: boolean;
  readonly help: boolean;
  readonly keep: boolean;
  readonly count: number;
  /** Where downloads and temporary files lie. */
  readonly folder: string;
  /** The Pythons to try, first to last. */
  readonly pythons: readonly string[];
  readonly binary: string;
}

/** What `--help` prints. */
export const HELP = `Shows minisandbox at work on real bug fixes of Python packages.

usage: ./dev demo [OPTION...]
  --count N        how many sandboxes run at once (32)
  --python PATH    the Python to use (/usr/bin/python3, else python3 in PATH)
  --folder DIR     where downloads and temporary files lie (.demo)
  --json           print all results as JSON
  --keep           do not remove the temporary files
  --help           print this

Fetches six source archives and a few wheels from the package registry of pip once; a second
demo needs no network. Needs python3 with venv, git, GNU tar, find, du. The program is
dist/minisandbox, or what MINISANDBOX_BIN names. Exits with 1 if any result is wrong.
`;

const checkout = join(import.meta.dirname ?? ".", "..");

/**
 * Reads the command line.
 *
 * @throws {UsageError} If an option is unknown or has a wrong value.
 */
export function parseOptions(args: readonly string[], binary: string | undefined): DemoOptions {
  const parsed = parseArgs(args, {
    boolean: ["json", "help", "keep"],
    string: ["count", "python", "folder"],
    default: { count: "32", folder: join(checkout, ".demo") },
    unknown: (arg) => {
      throw new UsageError(`Cannot read "${arg}": no such option`, { remedy: "Try --help." });
    },
  });
  const { json, help, keep, count, python, folder } = parsed as Record<string, unknown>;
  if (!/^[1-9]\d{0,3}$/.test(String(count))) {
    throw new UsageError(`Cannot start "${count}" sandboxes: not a number from 1 to 9999`);
  }
  return {
    json: json === true,
    help: help === true,
    keep: keep === true,
    count: Number(count),
    folder: resolve(String(folder)),
    pythons: typeof python === "string" ? [python] : ["/usr/bin/python3", "python3"],
    binary: resolve(binary ?? join(checkout, "dist/minisandbox")),
  };
}
