/** Checks of the programs that tasks expect of a base host. */
import { findProgram } from "../../sandbox/mod.ts";
import { PATH } from "../program.ts";
import { caution, type Finding, pass } from "./finding.ts";
import type { Probe } from "./probe.ts";

/** Checks of programs. */
export const programProbes: readonly Probe[] = ["bash", "git", "python3"].map((name) => ({
  check: name,
  lost: `${name} may be missing inside.`,
  examine: () => {
    const outside = (Deno.env.get("PATH") ?? "").split(":");
    return judgeProgram(name, findProgram(name, PATH.split(":")), findProgram(name, outside));
  },
}));

/** Judges a program by where it is found: on the path of a sandbox, and on ours. */
export function judgeProgram(name: string, inside: string | null, outside: string | null): Finding {
  if (inside !== null) return pass(name, `a base host has "${inside}"`);
  const lost = `${name} is missing in every sandbox with --base host, unless a layer has it.`;
  if (outside === null) {
    return caution(name, "not installed", { lost, remedy: `apt install ${name}` });
  }
  return caution(name, `only "${outside}", which no base host shows`, {
    lost,
    remedy: `apt install ${name}, or bring it in by --bind and PATH`,
  });
}
