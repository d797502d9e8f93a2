/** GNU tar. */
import { run, versionOf } from "../child.ts";
import type { Peer } from "../peer.ts";

/** As people call it. */
export const tar: Peer = {
  name: "tar",
  what: "GNU tar -xzf; then sync -f, for the row that says so",
  verbs: ["unpack"],
  prepare: async () => ({
    version: await versionOf("tar", "--version"),
    unpack: async (archive, dir) => {
      await Deno.mkdir(dir);
      await run(["tar", "-xzf", archive, "-C", dir]);
      return { dir, settle: async () => void await run(["sync", "-f", dir]) };
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }),
};
