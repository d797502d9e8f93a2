/** GNU tar, with and without waiting until all is on the disk, as ours does. */
import { run, versionOf } from "../child.ts";
import type { Peer } from "../peer.ts";

/** As people call it. */
export const tar = tarPeer("tar", "GNU tar -xzf, not synced", false);

/** Until it is on the disk. */
export const syncedTar = tarPeer("tar-synced", "GNU tar -xzf, then sync -f", true);

function tarPeer(name: string, what: string, isSynced: boolean): Peer {
  return {
    name,
    what,
    verbs: ["unpack"],
    prepare: async () => ({
      version: await versionOf("tar", "--version"),
      unpack: async (archive, dir) => {
        await Deno.mkdir(dir);
        await run(["tar", "-xzf", archive, "-C", dir]);
        if (isSynced) await run(["sync", "-f", dir]);
        return dir;
      },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    }),
  };
}
