/** unshare of util-linux: new namespaces over the host's whole tree. */
import type { Peer } from "../peer.ts";

/** Namespaces and a fresh /proc; every file of the host stays in sight. */
export const unshare: Peer = {
  name: "unshare",
  what: "new namespaces and /proc, the host's files in place",
  prepare: () => {
    const user = Deno.uid() === 0 ? [] : ["--map-root-user"];
    const namespaces = ["--mount", "--pid", "--fork", "--mount-proc", "--uts", "--ipc", "--net"];
    return Promise.resolve((command) => ["unshare", ...user, ...namespaces, "--", ...command]);
  },
};
