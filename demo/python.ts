/** Finds a Python that can make virtual environments, also for use inside a sandbox. */
import { join } from "@std/path/join";
import { HostError, messageOf } from "../src/errors.ts";
import { runChecked } from "./child.ts";

/** A Python of this machine. */
export interface Python {
  readonly executable: string;
  /** Like `3.11`. */
  readonly version: string;
  /** Where it is installed, if sandboxes do not see it there by themselves. */
  readonly bindPrefix: string | null;
  /** A virtual environment with pip, made by it. */
  readonly toolVenv: string;
}

/** Keeps settings of this machine out of what pip installs and downloads. */
export const PIP_ENV = {
  PIP_DISABLE_PIP_VERSION_CHECK: "1",
  PIP_NO_INPUT: "1",
  PIP_USER: "0",
  PYTHONNOUSERSITE: "1",
  PYTHONPATH: "",
};

const PROBE = `
import json, sys, ensurepip, venv
executable = getattr(sys, "_base_executable", None) or sys.executable
version = "%d.%d" % sys.version_info[:2]
if sys.version_info < (3, 8): sys.exit("version %s is older than 3.8" % version)
print(json.dumps({"executable": executable, "version": version, "prefix": sys.base_prefix}))
`;

/**
 * Picks the first of the candidates that can make a virtual environment.
 *
 * @throws {HostError} If none can; the message says why for each.
 */
export async function findPython(
  candidates: readonly string[],
  scratch: string,
): Promise<Python> {
  const reasons: string[] = [];
  for (const candidate of candidates) {
    try {
      const probe = await runChecked([candidate, "-c", PROBE], { env: PIP_ENV });
      const { executable, version, prefix } = JSON.parse(probe.stdout);
      const toolVenv = join(scratch, "tool");
      await runChecked([executable, "-m", "venv", "--clear", toolVenv], { env: PIP_ENV });
      return { executable, version, bindPrefix: toBindPrefix(prefix), toolVenv };
    } catch (error) {
      reasons.push(`${candidate}: ${toReason(error)}`);
    }
  }
  throw new HostError(`Cannot find a Python for the demo: ${reasons.join("; ")}`, {
    remedy: "Install the packages python3 and python3-venv, or name a Python by --python.",
  });
}

/** Says what of an installation a sandbox over the host's /usr lacks. */
export function toBindPrefix(prefix: string): string | null {
  return prefix === "/usr" || prefix.startsWith("/usr/") ? null : prefix;
}

function toReason(error: unknown): string {
  const message = messageOf(error);
  if (/permission denied/i.test(message)) return "this user may not read or run it";
  if (/No module named '?(ensurepip|venv)/.test(message)) {
    return "it has no venv or ensurepip (package python3-venv)";
  }
  return message.split("\n").at(-1) ?? message;
}
