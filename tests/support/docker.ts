/** A Docker of a test's own, of which nothing lies outside a directory, and containers in it. */
import { ROOT } from "../../tools/checkout.ts";
import { BINARY } from "./minisandbox.ts";

/** What a container printed, and how it ended. */
export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Where a container finds what tests need, and a disk that all may write to. */
export const PLACES = {
  program: "/opt/minisandbox",
  checkout: "/checkout",
  deno: "/opt/deno",
  cache: "/cache",
  data: "/data",
} as const;

/** How long the daemon may take to answer. */
const READY_MS = 30_000;

/**
 * The daemon is the first process of a pid namespace, whose end ends all; what it keeps beside its own
 * directories goes to mounts that end with it.
 */
const APART = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];

const PRIVATE = `mount -t tmpfs run /run &&
mount -t overlay -o lowerdir=/etc,upperdir="$1/etc",workdir="$1/work" etc /etc && shift && exec "$@"`;

/** The daemon. */
export class DockerDaemon implements AsyncDisposable {
  readonly #dir: string;
  readonly #process: Deno.ChildProcess;
  /** Cgroups of containers lie below it. */
  readonly #cgroup = `minisandbox-docker-${Deno.pid}`;
  readonly #said: ReadableStream<string>;
  #ended = Promise.resolve();

  /** Starts a daemon that keeps all it has in an empty directory on a disk. */
  static async start(dir: string): Promise<DockerDaemon> {
    for (const name of ["etc", "work", "data"]) Deno.mkdirSync(`${dir}/${name}`);
    Deno.chmodSync(`${dir}/data`, 0o1777);
    const daemon = new DockerDaemon(dir);
    try {
      await daemon.#awaitReady();
      return daemon;
    } catch (error) {
      await daemon[Symbol.asyncDispose]();
      throw error;
    }
  }

  private constructor(dir: string) {
    this.#dir = dir;
    const [command = "", ...args] = APART;
    this.#process = new Deno.Command(command, {
      args: [
        ...[...args, "sh", "-c", PRIVATE, "sh", dir, "dockerd", "--host", `unix://${dir}/socket`],
        ...["--data-root", `${dir}/root`, "--exec-root", `${dir}/exec`, "--pidfile", `${dir}/pid`],
        ...["--bridge", "none", "--iptables=false", "--ip6tables=false", "--ip-forward=false"],
        ...["--cgroup-parent", `/${this.#cgroup}`],
      ],
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).spawn();
    this.#said = this.#process.stderr.pipeThrough(new TextDecoderStream());
  }

  /** Where `PLACES.data` lies outside. */
  get data(): string {
    return `${this.#dir}/data`;
  }

  /** The daemon says so itself; where it ends before, what it said is why. */
  async #awaitReady(): Promise<void> {
    const late = setTimeout(() => this.#process.kill("SIGKILL"), READY_MS);
    const reader = this.#said.getReader();
    let said = "";
    while (!said.includes("API listen on")) {
      const { value, done } = await reader.read();
      if (done) throw new Error(`Cannot start dockerd: ${said.slice(-1000)}`);
      said += value;
    }
    clearTimeout(late);
    reader.releaseLock();
    this.#ended = this.#said.pipeTo(new WritableStream()); // it must not wait for a reader
  }

  /** Makes an image of a root file system in a tar. */
  async import(tar: ReadableStream<Uint8Array>, name: string): Promise<void> {
    const child = this.#spawn(["import", "-", name], "piped");
    const [{ code, stderr }] = await Promise.all([read(child), tar.pipeTo(child.stdin)]);
    if (code !== 0) throw new Error(`Cannot import an image: ${stderr}`);
  }

  /** Runs a command in a new container of an image, without a network. */
  async run(
    image: string,
    options: readonly string[],
    command: readonly string[],
  ): Promise<Ended> {
    const binds = [
      `${BINARY}:${PLACES.program}:ro`,
      `${ROOT}:${PLACES.checkout}:ro`,
      `${Deno.execPath()}:${PLACES.deno}:ro`,
      `${this.data}:${PLACES.data}`,
      `${CACHE}:${PLACES.cache}:ro`,
    ].flatMap((bind) => ["--volume", bind]);
    const args = ["run", "--rm", "--network", "none", ...binds, ...options, image, ...command];
    return await read(this.#spawn(args, "null"));
  }

  #spawn(args: readonly string[], stdin: "piped" | "null"): Deno.ChildProcess {
    return new Deno.Command("docker", {
      args: ["--host", `unix://${this.#dir}/socket`, "--config", `${this.#dir}/config`, ...args],
      stdin,
      stdout: "piped",
      stderr: "piped",
    }).spawn();
  }

  /** Ends the daemon, and waits until all that it started has let go of its stderr. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.kill("SIGKILL");
    await this.#process.status;
    await this.#ended;
    for (const dir of findCgroups(this.#cgroup)) removeCgroup(dir);
  }
}

/** What the tests import, fetched before. */
const CACHE = Deno.env.get("DENO_DIR") ?? `${Deno.env.get("HOME")}/.cache/deno`;

function removeCgroup(dir: string): void {
  for (const { name, isDirectory } of [...Deno.readDirSync(dir)]) {
    if (isDirectory) removeCgroup(`${dir}/${name}`);
  }
  Deno.removeSync(dir);
}

/** Finds the directories of a cgroup in each hierarchy that is mounted. */
export function findCgroups(name: string): string[] {
  const mounts = Deno.readTextFileSync("/proc/self/mountinfo").split("\n")
    .filter((line) => / - cgroup2? /.test(line));
  return mounts.map((line) => `${line.split(" ")[4]}/${name}`).filter((dir) => {
    try {
      return Deno.statSync(dir).isDirectory;
    } catch {
      return false;
    }
  });
}

async function read(child: Deno.ChildProcess): Promise<Ended> {
  const { code, stdout, stderr } = await child.output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, stdout: text(stdout), stderr: text(stderr) };
}
