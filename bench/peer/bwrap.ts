/** bubblewrap, as people call it: the host's /usr read-only, layers bound, nothing copied on write. */
import { PATHS } from "../context.ts";
import type { Peer } from "../peer.ts";

/** Folders in the root that are links into /usr on most systems. */
const ROOT_FOLDERS = ["bin", "sbin", "lib", "lib32", "lib64"];

/** All namespaces, and layers that were unpacked before. */
export const bwrap: Peer = {
  name: "bwrap",
  what: "all namespaces, /usr and layers read-only: no overlay, no seccomp filter, no init",
  prepare: async ({ folders }) => {
    const layers = folders.flatMap((folder, i) => ["--ro-bind", folder, PATHS[i]!]);
    const roots = await Promise.all(ROOT_FOLDERS.map(toOptions));
    const options = [
      ...["--unshare-all", "--die-with-parent", "--ro-bind", "/usr", "/usr", ...roots.flat()],
      ...["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/run"],
      ...layers,
    ];
    return (command) => ["bwrap", ...options, "--", ...command];
  },
};

async function toOptions(name: string): Promise<string[]> {
  try {
    return ["--symlink", await Deno.readLink(`/${name}`), `/${name}`];
  } catch (error) {
    return error instanceof Deno.errors.NotFound ? [] : ["--ro-bind", `/${name}`, `/${name}`];
  }
}
