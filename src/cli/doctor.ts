/** `minisandbox doctor`: what this host can do, and what would mend the rest. */
import { resolve } from "@std/path/resolve";
import { diagnose, type Finding, type Status } from "../app/doctor/mod.ts";
import { UsageError } from "../errors.ts";
import { parseOptions } from "./option.ts";
import type { Subcommand } from "./subcommand.ts";

const HELP = `Usage: minisandbox doctor [OPTION]...

Tries what sandboxes need on this host, and prints a line for each: PASS, CAUTION (works, with
something lost), FAIL or SKIPPED; where something is lost, also what, and the command that mends it.
The last line builds a real sandbox and runs "true" in it.

Options:
      --store DIR      the store [$MINISANDBOX_STORE, else /var/lib/minisandbox for root, else
                       $XDG_DATA_HOME/minisandbox]
      --upper-dir DIR  where what sandboxes write would be kept [in the store]
      --sandboxes N    how many sandboxes are wanted at once [64]
      --json           print [{check, status, found, lost, remedy}]
      --help           print this

Exit codes: 0 if sandboxes can be made, 1 if not.

Examples:
  minisandbox doctor
  minisandbox doctor --upper-dir /scratch --sandboxes 256
  minisandbox doctor --json`;

/** The subcommand. */
export const doctorCommand: Subcommand = {
  name: "doctor",
  summary: "say what this host can do",
  help: HELP,
  run: doctorMain,
};

const COLORS: Readonly<Record<Status, string>> = {
  PASS: "\x1b[32m",
  CAUTION: "\x1b[33m",
  FAIL: "\x1b[31m",
  SKIPPED: "\x1b[90m",
};

const STATUS_WIDTH = 8;
const CHECK_WIDTH = 21;

async function doctorMain(argv: readonly string[]): Promise<number> {
  const { options, operands } = parseOptions({
    store: { kind: "value" },
    "upper-dir": { kind: "value" },
    sandboxes: { kind: "value" },
    json: { kind: "flag" },
  }, argv);
  if (operands.length > 0) {
    throw new UsageError(`Cannot read the command line: doctor takes no "${operands[0]}"`, {
      remedy: "See: minisandbox doctor --help.",
    });
  }
  const upperDir = options["upper-dir"];
  const findings: Finding[] = [];
  const isColored = Deno.stdout.isTerminal() && (Deno.env.get("NO_COLOR") ?? "") === "";
  const wish = {
    storeDir: options.store === undefined ? undefined : resolve(options.store),
    upperDir: upperDir === undefined ? undefined : resolve(upperDir),
    sandboxes: parseCount(options.sandboxes),
  };
  for await (const finding of diagnose(wish)) {
    findings.push(finding);
    if (!options.json) console.log(formatFinding(finding, isColored));
  }
  if (options.json) console.log(JSON.stringify(findings, null, 2));
  return findings.at(-1)?.status === "PASS" ? 0 : 1;
}

/** Shows a finding: one line, and one each for what is lost and what mends it. */
export function formatFinding(finding: Finding, isColored: boolean): string {
  const { check, status, found, lost, remedy } = finding;
  const word = status.padEnd(STATUS_WIDTH);
  const shown = isColored ? `${COLORS[status]}${word}\x1b[0m` : word;
  const indent = " ".repeat(STATUS_WIDTH + 1);
  return [
    `${shown} ${check.padEnd(CHECK_WIDTH)} ${found}`,
    ...(lost === null ? [] : [`${indent}  lost:   ${lost}`]),
    ...(remedy === null ? [] : [`${indent}  remedy: ${remedy}`]),
  ].join("\n");
}

function parseCount(text: string | undefined): number {
  if (text === undefined) return 64;
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1) return count;
  throw new UsageError(`Cannot read --sandboxes ${JSON.stringify(text)}: no whole number`, {
    remedy: "Give 1 or more.",
  });
}
