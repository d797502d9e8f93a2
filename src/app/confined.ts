/**
 * Work on files that we must not trust or cannot touch: done by this program in a sandbox of its own,
 * which shows the one tree that it works on and nothing else of ours.
 */
import { resolve } from "@std/path/resolve";
import type { UnpackSummary } from "../archive/mod.ts";
import { SetupError } from "../errors.ts";
import {
  type Bind,
  type Engine,
  giveTree,
  type Host,
  NO_LIMITS,
  type Sandbox,
} from "../sandbox/mod.ts";
import { type BuildJob, removeTree } from "../store/mod.ts";
import { openInput, outputPipe, type PipeReader } from "../session/mod.ts";
import { type Ground, prepareBase } from "./base.ts";
import { DEFAULT_SPEC } from "./spec.ts";
import { fromErrorMessage, parseMessage, type WorkerMessage } from "./worker_message.ts";

/** Where the worker finds itself and its tree. */
const PROGRAM = "/minisandbox";
const TREE = "/tree";

/** Starts workers. */
export class Worker {
  readonly #ground: Ground;
  readonly #engine: () => Engine;

  constructor(ground: Ground, engine: () => Engine) {
    this.#ground = ground;
    this.#engine = engine;
  }

  /**
   * Unpacks an archive into a layer's tree.
   *
   * @throws {ArchiveError | HostError} As the worker says.
   */
  async unpack(job: BuildJob): Promise<UnpackSummary> {
    const { archive, tree, at, onProgress, signal } = job;
    const { kind, uids, gids } = this.#ground.host.identity;
    if (kind === "root") giveTree(tree, uids[0]!.outside, gids[0]!.outside);
    const into = TREE + at.slice(tree.length);
    const owners = kind === "single" ? "root" : "keep";
    const args = ["__unpack", "--into", into, "--name", resolve(archive), "--owners", owners];
    let summary: UnpackSummary | undefined;
    await this.#work(args, tree, {
      stdin: archive,
      signal,
      onMessage: (message) => {
        if ("progress" in message) onProgress(message.progress);
        if ("summary" in message) summary = message.summary;
      },
    });
    if (summary === undefined) {
      throw new SetupError("unpack", `Cannot unpack "${archive}": no answer`);
    }
    return summary;
  }

  /** Removes a tree; what belongs to other ids, by a worker to whom they belong. */
  async remove(dir: string): Promise<void> {
    try {
      await removeTree(dir);
    } catch (error) {
      const isForeign = error instanceof Deno.errors.PermissionDenied;
      if (!isForeign || this.#ground.host.identity.kind !== "subordinate") throw error;
      const names = [...Deno.readDirSync(dir)].map(({ name }) => `${TREE}/${name}`);
      await this.#work(["__remove", ...names], dir, { stdin: "/dev/null" });
      await removeTree(dir);
    }
  }

  async #work(
    args: readonly string[],
    tree: string,
    options: {
      readonly stdin: string;
      readonly signal?: AbortSignal | undefined;
      readonly onMessage?: (message: WorkerMessage) => void;
    },
  ): Promise<void> {
    const { stdin, signal, onMessage = () => {} } = options;
    signal?.throwIfAborted();
    const sandbox = await this.#create(tree);
    const stop = () => void sandbox.close();
    signal?.addEventListener("abort", stop);
    try {
      const output = outputPipe();
      const errors = outputPipe();
      const process = await sandbox.start({
        argv: [PROGRAM, ...args],
        env: ["PATH=/usr/bin:/bin", "HOME=/root", "LANG=C.UTF-8", "DENO_NO_UPDATE_CHECK=1"],
        searchPath: [],
        workdir: "/",
        uid: 0,
        gid: 0,
        groups: [],
        pty: null,
      }, { stdin: openInput(stdin), stdout: output.theirs, stderr: errors.theirs });
      const [failure, said] = await Promise.all([
        readMessages(output.ours, onMessage),
        readText(errors.ours),
      ]);
      const { status, signal: killer } = await process.wait();
      signal?.throwIfAborted();
      if (failure !== null) throw failure;
      if (status !== 0) {
        const how = killer === null ? `exit code ${status}` : `signal ${killer}`;
        throw new SetupError("work", `Cannot finish ${args[0]}: ${how}: ${said.trim()}`);
      }
    } finally {
      signal?.removeEventListener("abort", stop);
      await sandbox.close();
    }
  }

  async #create(tree: string): Promise<Sandbox> {
    const base = await prepareBase(this.#ground, DEFAULT_SPEC);
    const shown = base.parts.map(({ target }) => bind(target, target, true, false));
    const layout = {
      parts: [{ target: "/", lowers: base.root }],
      upper: { kind: "tmpfs" as const, sizeBytes: 1 << 20, inodes: null },
      binds: [
        ...shown,
        ...base.binds,
        bind(Deno.execPath(), PROGRAM, false, false),
        bind(tree, TREE, true, true),
      ],
      network: "none" as const,
      hostname: "worker",
      limits: NO_LIMITS,
    };
    return this.#engine().create(layout, { uid: 0, gid: 0 }, null);
  }
}

function bind(source: string, target: string, isDirectory: boolean, isWritable: boolean): Bind {
  return { source, target, isDirectory, isWritable };
}

/** Hands messages on; gives the error that the worker told of, or null. */
async function readMessages(
  reader: PipeReader,
  onMessage: (message: WorkerMessage) => void,
): Promise<Error | null> {
  let failure: Error | null = null;
  let rest = "";
  const decoder = new TextDecoder();
  for await (const chunk of reader) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop()!;
    for (const line of lines) {
      const message = parseMessage(line);
      if ("error" in message) failure = fromErrorMessage(message.error);
      else onMessage(message);
    }
  }
  return failure;
}

async function readText(reader: PipeReader): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of reader) text += decoder.decode(chunk, { stream: true });
  return text;
}
