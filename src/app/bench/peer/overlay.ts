/**
 * Mounts of overlayfs and nothing else: what trees that each sandbox can write to cost by themselves.
 * The kernel knows the names in such a tree anew for each mount, whoever makes it.
 */
import { run, spawnShell, versionOf } from "../child.ts";
import { listRootFolders } from "../host_root.ts";
import type { Peer } from "../peer.ts";
import { BASH } from "../shell.ts";
import { PATHS, siteEnv } from "../site.ts";

/** Bound as they are. */
const SHARED = ["dev", "proc", "etc", "tmp"];

const SCRIPT = `set -e
root=$1; shift
while [ "$1" != -- ]; do
  mkdir -p "$root/$2" "$root.upper/$2" "$root.work/$2"
  mount -t overlay overlay -o "lowerdir=$1,upperdir=$root.upper/$2,workdir=$root.work/$2" "$root/$2"
  shift 2
done
shift
for name in ${SHARED.join(" ")}; do
  mkdir "$root/$name"
  mount --rbind "/$name" "$root/$name"
done
exec chroot "$root" "$@"`;

/** The floor of whatever copies on write. */
export const overlay: Peer = {
  name: "overlay",
  what: "a mount namespace with overlays of /usr and layers, chroot: no other namespace, no filter",
  verbs: ["sandbox"],
  prepare: async ({ scratch, folders }) => {
    const version = await versionOf("mount", "--version");
    const dir = `${scratch}/overlay`;
    await Deno.mkdir(dir);
    const roots = await listRootFolders();
    const links = roots.flatMap(({ name, link }) => link === null ? [] : [[link, name] as const]);
    const trees = [
      ...roots.flatMap(({ name, link }) => link === null ? [`/${name}`, name] : []),
      ...[folders.venv, PATHS.venv.slice(1), folders.testbed, PATHS.testbed.slice(1)],
    ];
    const user = Deno.uid() === 0 ? [] : ["--user", "--map-root-user"];
    const argv = (root: string) => [
      ...["unshare", ...user, "--mount", "sh", "-c", SCRIPT, "sh", root, ...trees, "--"],
    ];
    const open = async () => {
      const root = `${dir}/${crypto.randomUUID()}`;
      await Deno.mkdir(root);
      for (const [link, name] of links) await Deno.symlink(link, `${root}/${name}`);
      return root;
    };
    await run([...argv(await open()), "true"]); // or it cannot be used here
    return {
      version,
      directories: [dir],
      sandbox: async (phases) => {
        const root = await open();
        const shell = spawnShell([...argv(root), ...BASH], { env: siteEnv() });
        phases.end("create");
        return {
          ...shell,
          [Symbol.asyncDispose]: async () => {
            await shell[Symbol.asyncDispose]();
            const all = [root, `${root}.upper`, `${root}.work`];
            await run(["rm", "-rf", "--one-file-system", ...all]);
          },
        };
      },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  },
};
