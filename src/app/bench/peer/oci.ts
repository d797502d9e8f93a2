/** crun and runc: OCI runtimes, on a bundle that binds the host's /usr and the layers. */
import { run, spawnShell, versionOf } from "../child.ts";
import { listRootFolders } from "../host_root.ts";
import type { Peer } from "../peer.ts";
import { BASH } from "../shell.ts";
import { PATHS, type Site, siteEnv } from "../site.ts";

/** The one in C. */
export const crun = ociPeer("crun");

/** The one that Docker uses. */
export const runc = ociPeer("runc");

function ociPeer(name: string): Peer {
  return {
    name,
    what: `${name} run: all namespaces, /usr and layers read-only: no overlay, no seccomp filter`,
    verbs: ["sandbox"],
    prepare: async (site) => {
      const version = await versionOf(name, "--version");
      const bundle = `${site.scratch}/${name}`;
      await makeBundle(site, bundle);
      const argv = () => {
        const id = `minisandbox-bench-${crypto.randomUUID()}`;
        return [name, "--root", `${bundle}/state`, "run", "--bundle", bundle, id];
      };
      const open = () => spawnShell(argv());
      await using _trial = await tried(open());
      return {
        version,
        sandbox: (phases) => {
          const shell = open();
          phases.end("create");
          return Promise.resolve(shell);
        },
        [Symbol.asyncDispose]: () => Promise.resolve(),
      };
    },
  };
}

/** Or it cannot be used here. */
async function tried<S extends ReturnType<typeof spawnShell>>(shell: S): Promise<S> {
  try {
    await shell.run("true");
    return shell;
  } catch (error) {
    await shell[Symbol.asyncDispose]();
    throw error;
  }
}

/** The runtime's own example, with our mounts and command in it (OCI runtime-spec, config.md). */
async function makeBundle({ scratch, folders }: Site, bundle: string): Promise<void> {
  const name = bundle.slice(scratch.length + 1);
  await Deno.mkdir(`${bundle}/rootfs`, { recursive: true });
  const userless = Deno.uid() === 0 ? [] : ["--rootless"];
  await run([name, "spec", ...userless], { cwd: bundle });
  const config = JSON.parse(await Deno.readTextFile(`${bundle}/config.json`));
  const bind = (source: string, destination: string) => ({
    ...{ source, destination, type: "bind" },
    options: ["rbind", "ro"],
  });
  for (const { name, link } of await listRootFolders()) {
    if (link === null) config.mounts.push(bind(`/${name}`, `/${name}`));
    else await Deno.symlink(link, `${bundle}/rootfs/${name}`);
  }
  config.mounts.push(bind(folders.venv, PATHS.venv), bind(folders.testbed, PATHS.testbed));
  config.process.terminal = false;
  config.process.args = BASH;
  config.process.env.push(...Object.entries(siteEnv()).map(([key, value]) => `${key}=${value}`));
  config.root.readonly = false; // mount points are made in it
  await Deno.writeTextFile(`${bundle}/config.json`, JSON.stringify(config));
}
