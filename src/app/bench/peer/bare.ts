/** No sandbox at all: the floor. All shells work in one folder. */
import { run, spawnShell, versionOf } from "../child.ts";
import type { Peer } from "../peer.ts";
import { BASH } from "../shell.ts";
import { siteEnv } from "../site.ts";

/** The commands by themselves. */
export const bare: Peer = {
  name: "bare",
  what: "the same commands without a sandbox, all in one folder",
  verbs: ["sandbox", "process", "session"],
  prepare: async ({ folders }) => {
    const env = siteEnv(folders);
    const open = () => spawnShell(BASH, { env, cwd: folders.testbed });
    return {
      version: await versionOf("bash", "--version"),
      sandbox: (phases) => {
        const shell = open();
        phases.end("create");
        return Promise.resolve(shell);
      },
      process: (argv) => run(argv),
      session: () => Promise.resolve(open()),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  },
};
