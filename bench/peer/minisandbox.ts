/** This repository's program: a cold process over a warm store, with two layers. */
import { BINARY } from "../../tools/checkout.ts";
import { type Context, PATHS, run } from "../context.ts";
import type { Peer } from "../peer.ts";

/** What is measured. */
export const PROGRAM = Deno.env.get("MINISANDBOX_BIN") ?? BINARY;

/** `minisandbox run`. */
export const minisandbox: Peer = {
  name: "minisandbox",
  what: "run with two layers: copy-on-write /usr and layers, seccomp, init, an id range of its own",
  prepare: async (context) => {
    const options = layerOptions(context);
    await run([PROGRAM, "run", "--quiet", ...options, "--", "true"]); // unpacks
    return (command) => [PROGRAM, "run", "--quiet", ...options, "--", ...command];
  },
};

/** The store and the layers, as options of `run` and of `bench engine`. */
export function layerOptions({ scratch, archives }: Context): string[] {
  const layers = archives.flatMap((archive, i) => ["--layer", `${archive}:${PATHS[i]}`]);
  return ["--store", `${scratch}/store`, ...layers];
}
