/**
 * Work on files that we must not trust or cannot touch: done by this program in a sandbox of its own,
 * which shows the trees that it works on and nothing else of ours.
 */
import { resolve } from "@std/path/resolve";
import type { UnpackLimits, UnpackSummary } from "../archive/mod.ts";
import { HostError, SetupError } from "../errors.ts";
import {
  type Bind,
  type Engine,
  giveTree,
  NO_LIMITS,
  type Part,
  type Process,
  type Sandbox,
  type Stdio,
} from "../sandbox/mod.ts";
import { type BuildJob, LAST_REMOVED, removeTree } from "../store/mod.ts";
import { inputPipe, openInput, outputPipe, type PipeReader } from "../session/mod.ts";
import { archiveInput } from "./archive_input.ts";
import type { Ground } from "./base.ts";
import type { Built } from "./layer.ts";
import type { PackWish, WriteBytes } from "./pack.ts";
import { bind, prepareWorkerBase } from "./worker_base.ts";
import type { WorkerMessage } from "./worker_message.ts";
import { readMessages, readText } from "./worker_output.ts";

/** Where the worker finds itself and its tree. */
const PROGRAM = "/minisandbox";
const TREE = "/tree";
const LIST = "/list";

/** What a worker is to do. */
export interface Work {
  /** The hidden subcommand and its arguments. */
  readonly args: readonly string[];
  /** What it may see. */
  readonly binds: readonly Bind[];
  /** Trees that it sees below a directory of its root, which `trees` has. */
  readonly parts?: WorkerParts;
  /** A file that it reads, or bytes. */
  readonly stdin?: string | AsyncIterable<Uint8Array<ArrayBuffer>>;
  /** Takes what it writes to stdout; its messages come by stderr then. */
  readonly onOutput?: WriteBytes;
  readonly signal?: AbortSignal | undefined;
  readonly onMessage?: (message: WorkerMessage) => void;
}

/** Copy-on-write trees of a worker, of which it can change nothing that stays. */
export interface WorkerParts {
  /** A tree with the directories at which the parts are shown. */
  readonly tree: string;
  readonly parts: readonly Part[];
}

/** Starts workers. */
export class Worker {
  readonly #ground: Ground;
  readonly #engine: () => Engine;
  readonly #limits: Partial<UnpackLimits>;

  /** @param limits The most that is taken from an archive, where it is not the usual. */
  constructor(ground: Ground, engine: () => Engine, limits: Partial<UnpackLimits>) {
    this.#ground = ground;
    this.#engine = engine;
    this.#limits = limits;
  }

  /**
   * Unpacks an archive into a layer's tree, and lists its entries.
   *
   * @throws {ArchiveError | HostError} As the worker says.
   */
  async unpack(job: BuildJob): Promise<Built> {
    const { archive, tree, at, list, setuid, onProgress, signal } = job;
    const { identity } = this.#ground.host;
    const { kind, uids, gids } = identity;
    if (kind === "root") {
      for (const path of [tree, list]) giveTree(path, uids[0]!.outside, gids[0]!.outside);
    }
    const into = TREE + at.slice(tree.length);
    const owners = kind === "single" ? "root" : "keep";
    const name = resolve(archive);
    const file = Deno.realPathSync(archive);
    const { binds, ...input } = archiveInput(file, Deno.statSync(file).uid!, identity);
    const args = [
      ...["__unpack", "--into", into, "--list", LIST, "--name", name, "--owners", owners],
      ...["--setuid", setuid, "--git-index", "refresh"],
      ...[...limitOptions(this.#limits), ...input.args],
      ...(at === tree ? ["--whiteouts", "oci", "--devices", "skip"] : []),
    ];
    let summary: UnpackSummary | undefined;
    let diskBytes = 0;
    await this.work({
      ...input,
      args,
      binds: [
        ...binds,
        bind(tree, TREE, { isWritable: true }),
        bind(list, LIST, { isDirectory: false, isWritable: true }),
      ],
      signal,
      onMessage: (message) => {
        if ("progress" in message) onProgress(message.progress);
        if ("summary" in message) ({ summary, diskBytes } = message);
      },
    });
    if (summary === undefined) {
      throw new SetupError("unpack", `Cannot unpack "${archive}": no answer`);
    }
    if (kind === "root") giveTree(list, 0, 0);
    return { ...summary, diskBytes };
  }

  /**
   * Packs trees as one archive.
   *
   * @throws {ArchiveError | HostError} As the worker says.
   */
  async pack(wish: PackWish, onOutput: WriteBytes): Promise<void> {
    const { parts, signal, onNote = () => {}, ...settings } = wish;
    const trees = parts.map(({ at }, i) => ({ dir: `/part/${i}`, at }));
    await this.work({
      args: ["__pack", JSON.stringify({ trees, settings })],
      binds: parts.map(({ dir }, i) => bind(dir, `/part/${i}`)),
      onOutput,
      signal,
      onMessage: (message) => {
        if ("note" in message) onNote(message.note);
      },
    });
  }

  /** Removes a tree; what belongs to other ids, by a worker to whom they belong. */
  async remove(dir: string): Promise<void> {
    try {
      await removeTree(dir);
    } catch (error) {
      const isForeign = error instanceof Deno.errors.PermissionDenied;
      if (!isForeign || this.#ground.host.identity.kind !== "subordinate") throw error;
      const names = [...Deno.readDirSync(dir)].filter(({ name }) => name !== LAST_REMOVED)
        .map(({ name }) => `${TREE}/${name}`);
      await this.work({
        args: ["__remove", ...names],
        binds: [bind(dir, TREE, { isWritable: true })],
      });
      await removeTree(dir);
    }
  }

  /**
   * Has a worker do its work, to its end.
   *
   * @throws {MinisandboxError} As the worker says.
   */
  async work(work: Work): Promise<void> {
    const { args, stdin, signal, onMessage = () => {}, onOutput } = work;
    signal?.throwIfAborted();
    const { sandbox, process, ours } = await this.start(args, work, () => {
      const stdout = outputPipe();
      const stderr = outputPipe();
      const input = stdin === undefined ? null : openStdin(stdin);
      return {
        stdio: {
          ...(input === null ? {} : { stdin: input.theirs }),
          stdout: stdout.theirs,
          stderr: stderr.theirs,
        },
        ours: { stdout, stderr, input },
      };
    });
    const { stdout, stderr, input } = ours;
    const stop = () => void sandbox.close();
    signal?.addEventListener("abort", stop);
    try {
      const [told, other] = onOutput === undefined ? [stdout, stderr] : [stderr, stdout];
      const [{ failure, rest }, text] = await Promise.all([
        readMessages(told.ours, onMessage),
        onOutput === undefined ? readText(other.ours) : drain(other.ours, onOutput),
        input?.feed(), // what cannot be read fails here: the worker only sees an early end
      ]);
      const { status, signal: killer } = await process.wait();
      signal?.throwIfAborted();
      if (failure !== null) throw failure;
      if (status !== 0) {
        const how = killer === null ? `exit code ${status}` : `signal ${killer}`;
        throw new SetupError("work", `Cannot finish ${args[0]}: ${how}: ${(rest + text).trim()}`);
      }
    } finally {
      signal?.removeEventListener("abort", stop);
      await sandbox.close();
    }
  }

  /**
   * Starts a worker; whoever does ends its sandbox.
   *
   * @param open Opens the descriptors that it gets, and ours.
   * @throws {MinisandboxError} If it cannot be started.
   */
  async start<T>(
    args: readonly string[],
    shown: Pick<Work, "binds" | "parts">,
    open: () => { readonly stdio: Stdio; readonly ours: T },
  ): Promise<{ readonly sandbox: Sandbox; readonly process: Process; readonly ours: T }> {
    const sandbox = await this.#create(shown);
    try {
      const { stdio, ours } = open();
      const process = await sandbox.start({
        argv: [PROGRAM, ...args],
        env: ["HOME=/tmp", "LANG=C.UTF-8", "DENO_NO_UPDATE_CHECK=1"],
        searchPath: [],
        workdir: "/",
        uid: 0,
        gid: 0,
        groups: [],
        pty: null,
        hasStdin: stdio.stdin !== undefined,
      }, stdio);
      return { sandbox, process, ours };
    } catch (error) {
      await sandbox.close();
      throw error;
    }
  }

  async #create({ binds, parts }: Pick<Work, "binds" | "parts">): Promise<Sandbox> {
    const base = await prepareWorkerBase(this.#ground.trees);
    const more = parts === undefined ? [] : [{ path: parts.tree, isIdMapped: false }];
    const layout = {
      parts: [{ target: "/", lowers: [...more, ...base.root] }, ...parts?.parts ?? []],
      upper: { kind: "tmpfs" as const, sizeBytes: 1 << 20, inodes: null },
      binds: [...base.binds, bind(ownProgram(), PROGRAM, { isDirectory: false }), ...binds],
      network: "none" as const,
      hostname: "worker",
      limits: NO_LIMITS,
    };
    return await this.#engine().create(layout, { uid: 0, gid: 0 });
  }
}

/** What /proc/PID/exe says of a file that has no name any more (proc_pid_exe(5)). */
const DELETED = " (deleted)";

/** @throws {HostError} If it has been replaced: another version may not be what we are. */
function ownProgram(): string {
  const path = Deno.execPath();
  if (!path.endsWith(DELETED)) return path;
  const program = path.slice(0, -DELETED.length);
  throw new HostError(`Cannot start a worker: "${program}" has been replaced or removed`, {
    remedy: "Start the server anew.",
  });
}

function limitOptions({ maxBytes, maxEntries, maxDepth }: Partial<UnpackLimits>): string[] {
  const options = { "--max-bytes": maxBytes, "--max-entries": maxEntries, "--max-depth": maxDepth };
  return Object.entries(options)
    .flatMap(([name, value]) => value === undefined ? [] : [name, String(value)]);
}

/** What a worker reads; bytes are fed to it once it runs. */
function openStdin(
  source: NonNullable<Work["stdin"]>,
): { readonly theirs: number; feed(): Promise<void> } {
  if (typeof source === "string") {
    return { theirs: openInput(source), feed: () => Promise.resolve() };
  }
  const { ours, theirs } = inputPipe();
  const feed = async () => {
    try {
      for await (const chunk of source) if (!await ours.write(chunk)) return;
    } finally {
      ours.close();
    }
  };
  return { theirs, feed };
}

async function drain(reader: PipeReader, write: WriteBytes): Promise<string> {
  for await (const chunk of reader) await write(chunk);
  return "";
}
