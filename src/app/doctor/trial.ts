/** The last check: a real sandbox, and a program in it. */
import { HostError } from "../../errors.ts";
import { Node } from "../node.ts";
import { Phases } from "../outcome.ts";
import { run } from "../run.ts";
import { DEFAULT_SPEC } from "../spec.ts";
import { pass } from "./finding.ts";
import type { Probe } from "./probe.ts";

/** Runs `true` on the host's base, all from the start. */
export const trialProbe: Probe = {
  check: "a sandbox",
  lost: "Sandboxes cannot be made.",
  examine: async ({ storeDir, wish: { upperDir } }) => {
    using node = new Node(storeDir);
    const phases = new Phases();
    const spec = {
      ...DEFAULT_SPEC,
      command: ["true"],
      upper: { kind: "disk" as const, dir: upperDir ?? null },
    };
    const { outcome } = await run(node, spec, {
      phases,
      wiring: { hasStdin: false, terminal: null },
      signal: new AbortController().signal,
      onStart: ({ wires: { stdout, stderr } }) => [stdout, stderr].forEach((end) => end?.close()),
    });
    if (outcome.code !== 0) {
      throw new HostError(`Cannot run "true" in a sandbox: it ${JSON.stringify(outcome)}`, {
        remedy: "See why by: minisandbox run -- true.",
      });
    }
    const times = Object.entries(phases.toJSON()).map(([name, ms]) => `${name} ${ms.toFixed(1)}`);
    return pass("a sandbox", `ran "true"; ms: ${times.join(", ")}`);
  },
};
