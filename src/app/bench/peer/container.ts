/** Docker and podman: the same environment as an image, a container for each sandbox, bash by exec. */
import { run, spawnShell, versionOf } from "../child.ts";
import { listRootFolders } from "../host_root.ts";
import type { Ground, Peer } from "../peer.ts";
import { BASH, type Shell } from "../shell.ts";
import { PATHS, type Site, siteEnv } from "../site.ts";

/** Docker, whose daemon must run. */
export const docker = containerPeer("docker", ["docker", "version", "-f", "{{.Server.Version}}"]);

/** podman. */
export const podman = containerPeer("podman", ["podman", "version", "-f", "{{.Version}}"]);

function containerPeer(name: string, version: readonly string[]): Peer {
  return {
    name,
    what: `${name} run of an image that holds both layers, the host's /usr bound; ${name} exec`,
    verbs: ["sandbox", "process", "session"],
    prepare: async (site) => {
      const number = await versionOf(...version);
      const containers = new Containers(name, await importImage(name, site));
      await using undo = new AsyncDisposableStack();
      undo.use(containers);
      await containers.start(); // kept for process and session; or it cannot be used here
      undo.move();
      return containers.toGround(`${name} ${number}`, await findDirectories(name));
    },
  };
}

/** Containers of one image. */
class Containers implements AsyncDisposable {
  readonly #program: string;
  readonly #image: string;
  readonly #options: Promise<string[]> = toOptions();
  #kept = "";

  constructor(program: string, image: string) {
    this.#program = program;
    this.#image = image;
  }

  async start(): Promise<void> {
    this.#kept = await this.#create();
  }

  toGround(version: string, directories: readonly string[]): Ground {
    return {
      version,
      ...(directories.length === 0 ? {} : { directories }),
      sandbox: async (phases) => {
        const id = await this.#create();
        phases.end("create");
        return this.#enter(id, () => this.#remove(id));
      },
      process: (argv) => run([this.#program, "exec", this.#kept, ...argv]),
      session: () => Promise.resolve(this.#enter(this.#kept, () => Promise.resolve())),
      [Symbol.asyncDispose]: () => this[Symbol.asyncDispose](),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#kept !== "") await this.#remove(this.#kept);
    await run([this.#program, "rmi", "--force", this.#image]);
  }

  async #create(): Promise<string> {
    const options = ["--detach", "--network", "none", ...await this.#options];
    const argv = [this.#program, "run", ...options, this.#image, "sleep", "infinity"];
    return (await run(argv)).trim();
  }

  #enter(id: string, leave: () => Promise<void>): Shell {
    const shell = spawnShell([this.#program, "exec", "--interactive", id, ...BASH]);
    return {
      run: shell.run,
      pids: async () => [...await shell.pids(), await this.#keeperOf(id)],
      [Symbol.asyncDispose]: async () => {
        await shell[Symbol.asyncDispose]();
        await leave();
      },
    };
  }

  /** The process that the container's own are children of: containerd-shim, conmon. */
  async #keeperOf(id: string): Promise<number> {
    const pid = (await run([this.#program, "inspect", "--format", "{{.State.Pid}}", id])).trim();
    const status = await Deno.readTextFile(`/proc/${pid}/status`);
    return Number(/^PPid:\s+(\d+)$/m.exec(status)![1]);
  }

  async #remove(id: string): Promise<void> {
    await run([this.#program, "rm", "--force", "--volumes", id]);
  }
}

async function toOptions(): Promise<string[]> {
  const binds = (await listRootFolders())
    .filter(({ link }) => link === null)
    .flatMap(({ name }) => ["--volume", `/${name}:/${name}:ro`]);
  const env = Object.entries(siteEnv()).flatMap(([name, value]) => ["--env", `${name}=${value}`]);
  return [...binds, ...env];
}

/** Makes the image from the same archives as the layers of ours. */
async function importImage(program: string, { scratch, archives }: Site): Promise<string> {
  const root = `${scratch}/${program}-root`;
  for (const name of ["venv", "testbed"] as const) {
    await Deno.mkdir(`${root}${PATHS[name]}`, { recursive: true });
    await run(["tar", "-xzf", archives[name], "-C", `${root}${PATHS[name]}`]);
  }
  for (const { name, link } of await listRootFolders()) {
    if (link === null) await Deno.mkdir(`${root}/${name}`);
    else await Deno.symlink(link, `${root}/${name}`);
  }
  for (const name of ["tmp", "root", "etc"]) await Deno.mkdir(`${root}/${name}`);
  await Deno.writeTextFile(`${root}/etc/passwd`, "root:x:0:0:root:/root:/bin/bash\n");
  const image = `minisandbox-bench:${crypto.randomUUID().slice(0, 8)}`;
  await run(["tar", "--owner=0", "--group=0", "-cf", `${root}.tar`, "-C", root, "."]);
  await run([program, "import", `${root}.tar`, image]);
  await run(["rm", "-rf", root, `${root}.tar`]);
  return image;
}

/** Only root sees what they hold. */
async function findDirectories(program: string): Promise<string[]> {
  if (Deno.uid() !== 0) return [];
  const format = program === "docker" ? "{{.DockerRootDir}}" : "{{.Store.GraphRoot}}";
  const dir = (await run([program, "info", "--format", format])).trim();
  return await Deno.stat(dir).then(() => [dir], () => []);
}
