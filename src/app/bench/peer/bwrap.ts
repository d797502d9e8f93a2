/** bubblewrap, as people call it: the host's /usr read-only, layers bound, nothing copied on write. */
import { run, spawnShell, versionOf } from "../child.ts";
import { listRootFolders } from "../host_root.ts";
import type { Peer } from "../peer.ts";
import { BASH } from "../shell.ts";
import { PATHS, siteEnv } from "../site.ts";

/** All namespaces, and layers that were unpacked before. */
export const bwrap: Peer = {
  name: "bwrap",
  what: "all namespaces, /usr and layers read-only: no overlay, no seccomp filter",
  verbs: ["sandbox", "process"],
  prepare: async ({ folders }) => {
    const version = await versionOf("bwrap", "--version");
    const roots = (await listRootFolders()).flatMap(({ name, link }) =>
      link === null ? ["--ro-bind", `/${name}`, `/${name}`] : ["--symlink", link, `/${name}`]
    );
    const argv = [
      ...["bwrap", "--unshare-all", "--die-with-parent", ...roots],
      ...["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/run"],
      ...["--ro-bind", folders.venv, PATHS.venv, "--ro-bind", folders.testbed, PATHS.testbed],
      "--",
    ];
    const env = siteEnv();
    await run([...argv, "true"]); // or it cannot be used here
    return {
      version,
      sandbox: (phases) => {
        const shell = spawnShell([...argv, ...BASH], { env });
        phases.end("create");
        return Promise.resolve(shell);
      },
      process: (command) => run([...argv, ...command], { env }),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  },
};
