/**
 * The recipe of the published system, from the description in its paper (arXiv 2602.11210): a mount
 * namespace, the host's directories bound, both archives unpacked again for each sandbox within a
 * fixed budget, chroot. Its terminal and its waiting are left out: this is the floor of the recipe.
 */
import { HostError } from "../../../errors.ts";
import { run, spawnShell, versionOf } from "../child.ts";
import type { Peer } from "../peer.ts";
import { BASH } from "../shell.ts";
import { PATHS, siteEnv } from "../site.ts";
import { Tokens } from "../token.ts";

/** Bound read-only; /opt is left out, for the venv lies there. */
const READ_ONLY = ["bin", "sbin", "lib", "lib64", "usr", "etc", "root", "run", "var"];

/** Bound as they are. */
const SHARED = ["dev", "proc", "sys", "tmp"];

const SCRIPT = `set -e
root=$1; shift
for name in ${READ_ONLY.join(" ")}; do
  if [ -L "/$name" ]; then ln -s "$(readlink "/$name")" "$root/$name"; continue; fi
  [ -d "/$name" ] || continue
  mkdir "$root/$name"
  mount --bind "/$name" "$root/$name"
  mount -o remount,bind,ro "$root/$name"
done
for name in ${SHARED.join(" ")}; do
  mkdir "$root/$name"
  mount --rbind "/$name" "$root/$name"
done
exec chroot "$root" "$@"`;

/** So much of compressed files a token stands for, and so many a node has. */
const TOKEN_BYTES = 50e6;
const TOKENS = 40;

/** Ours after its paper. */
export const untar: Peer = {
  name: "untar",
  what: "the published recipe: both archives unpacked for each sandbox, binds, chroot; as root",
  verbs: ["sandbox"],
  prepare: async ({ scratch, archives }) => {
    if (Deno.uid() !== 0) throw new HostError("Cannot mount: it needs root");
    const version = await versionOf("unshare", "--version");
    const dir = `${scratch}/untar`;
    await Deno.mkdir(dir);
    const tokens = new Tokens(TOKENS);
    const unpack = async (archive: string, to: string): Promise<void> => {
      const { size } = await Deno.stat(archive);
      using _share = await tokens.take(Math.min(TOKENS, Math.ceil(size / TOKEN_BYTES)));
      await Deno.mkdir(to, { recursive: true });
      await run(["tar", "-xzf", archive, "-C", to]);
    };
    return {
      version,
      directories: [dir],
      sandbox: async (phases) => {
        const root = `${dir}/${crypto.randomUUID()}`;
        await unpack(archives.venv, `${root}${PATHS.venv}`);
        phases.end("unpack venv");
        await unpack(archives.testbed, `${root}${PATHS.testbed}`);
        phases.end("unpack testbed");
        const argv = ["unshare", "--mount", "sh", "-c", SCRIPT, "sh", root];
        const shell = spawnShell([...argv, ...BASH], { env: siteEnv() });
        phases.end("create");
        return {
          ...shell,
          [Symbol.asyncDispose]: async () => {
            await shell[Symbol.asyncDispose]();
            await run(["rm", "-rf", "--one-file-system", root]);
          },
        };
      },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  },
};
