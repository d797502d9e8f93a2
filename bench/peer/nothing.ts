/** A compiled Deno program that does nothing: what our runtime costs before our first line. */
import { run } from "../context.ts";
import type { Peer } from "../peer.ts";

/** Compiled as `tools/build.ts` compiles ours; it runs no command. */
export const nothing: Peer = {
  name: "nothing",
  what: "a compiled Deno program that ends at once, without a command",
  prepare: async ({ scratch }) => {
    const program = `${scratch}/nothing`;
    await Deno.writeTextFile(`${program}.js`, "");
    await run([
      ...[Deno.execPath(), "compile", "--quiet", "--no-config", "--no-check", "--no-code-cache"],
      ...["--no-npm", "--no-remote", "--allow-all", "--output", program, `${program}.js`],
    ]);
    return () => [program];
  },
};
