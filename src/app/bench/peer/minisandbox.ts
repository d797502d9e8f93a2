/** Ours: a live server, asked in its own process. */
import { ensureLayers } from "../../layer.ts";
import { Node } from "../../node.ts";
import { toProgram } from "../../program.ts";
import type { Program } from "../../../sandbox/mod.ts";
import { Server } from "../../server/mod.ts";
import type { LiveSandbox } from "../../server/live_sandbox.ts";
import { StartedProcess } from "../../server/started_process.ts";
import { openSession } from "../../session.ts";
import { DEFAULT_SPEC, type SandboxSpec } from "../../spec.ts";
import { connect, disconnect } from "../../wire.ts";
import { VERSION } from "../../../version.ts";
import { OURS } from "../measure.ts";
import type { Ground, Original, Peer, Unpacked } from "../peer.ts";
import { BASH, PipedShell, type Shell } from "../shell.ts";
import { PATHS, type Site, siteEnv } from "../site.ts";

/** A server that was started before, over a store that holds the layers. */
export const minisandbox: Peer = {
  name: OURS,
  what: "live server: copy-on-write /usr and layers, seccomp, init, an id range of its own; " +
    "namespaces and init for the next crowd are ready",
  verbs: ["sandbox", "process", "session", "unpack", "fork"],
  prepare: async (site) => {
    const ours = new Ours(site);
    await using undo = new AsyncDisposableStack();
    undo.use(ours);
    await ours.start();
    undo.move();
    return ours.toGround();
  },
};

/** No caller, no limit of time. */
const OPTIONS = {
  ...{ key: null, labels: {}, owner: null, ttlMs: null, idleMs: null, startTimeoutMs: null },
};

class Ours implements AsyncDisposable {
  readonly #site: Site;
  readonly #node: Node;
  readonly #server: Server;
  readonly #spec: SandboxSpec;
  readonly #call: Parameters<Server["create"]>[2];
  #kept: LiveSandbox | null = null;

  constructor(site: Site) {
    const { scratch, archives, signal } = site;
    this.#site = site;
    this.#node = new Node(`${scratch}/store`);
    this.#server = new Server(this.#node, { maxSandboxes: 65_536 });
    this.#call = { caller: { gone: signal, notify: () => Promise.resolve() }, signal };
    this.#spec = {
      ...DEFAULT_SPEC,
      layers: (["venv", "testbed"] as const).map((name) => ({
        archive: archives[name],
        path: PATHS[name],
      })),
      env: siteEnv(),
      workdir: PATHS.testbed,
    };
  }

  /** Unpacks the layers; the sandbox is kept for programs and sessions. */
  async start(): Promise<void> {
    this.#node.startEngine();
    this.#kept = await this.#create();
  }

  toGround(): Ground {
    return {
      version: VERSION,
      directories: [this.#node.store.dir],
      sandbox: async (phases) => {
        const live = await this.#create();
        phases.end("create");
        return await this.#startBash(live);
      },
      process: (argv) => this.#run(this.#kept!, argv),
      session: () => this.#openSession(this.#kept!),
      original: () => this.#openOriginal(),
      rest: () => this.#server.idle,
      unpack: (archive, dir) => this.#unpack(archive, dir),
      [Symbol.asyncDispose]: () => this[Symbol.asyncDispose](),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]();
    this.#node[Symbol.dispose]();
  }

  async #create(): Promise<LiveSandbox> {
    const { sandbox } = await this.#server.create(this.#spec, OPTIONS, this.#call);
    return sandbox;
  }

  async #openOriginal(): Promise<Original> {
    const live = await this.#create();
    const shell = await this.#startBash(live);
    return {
      shell,
      fork: async (phases) => {
        const wish = { ...OPTIONS, count: 1, stops: true };
        const [copy] = await this.#server.fork(live, wish, this.#call);
        phases.end("fork");
        return await this.#startBash(copy!);
      },
      [Symbol.asyncDispose]: () => shell[Symbol.asyncDispose](),
    };
  }

  #program(live: LiveSandbox, command: readonly string[]): Program {
    return toProgram({ ...this.#spec, command }, live.parts.prepared.user);
  }

  async #startBash(live: LiveSandbox): Promise<Shell> {
    const { sandbox } = live.parts;
    const { ours, theirs } = connect(sandbox, { hasStdin: true, terminal: null, isMerged: true });
    const program = { ...this.#program(live, BASH), hasStdin: true };
    const process = await sandbox.start(program, theirs);
    const ended = process.wait();
    ended.catch(() => {}); // it ends with the sandbox
    const shell = new PipedShell({
      write: (bytes) => ours.stdin!.write(bytes),
      output: ours.stdout[Symbol.asyncIterator](),
      reason: () => Promise.resolve("its sandbox has ended"),
    });
    return {
      run: shell.run,
      pids: () => Promise.resolve([sandbox.initPid, process.pid]),
      [Symbol.asyncDispose]: async () => {
        disconnect(ours);
        await live.close("closed");
        await ended.catch(() => {});
      },
    };
  }

  async #run(live: LiveSandbox, argv: readonly string[]): Promise<string> {
    const started = await StartedProcess.start(live.parts.sandbox, this.#program(live, argv), {
      ...{ stdin: null, staysOpen: false, terminal: null, isMerged: false },
      ...{ timeoutMs: null, noOutputMs: null, maxOutputBytes: null },
      keep: { headBytes: 1 << 20, tailBytes: 0 },
      stream: null,
    });
    const { outcome, stdout } = await started.wait(false);
    return outcome.code === 0 ? stdout.text : `${outcome.kind} ${outcome.code}`;
  }

  async #openSession(live: LiveSandbox): Promise<Shell> {
    const session = await openSession(live.parts.sandbox, this.#program(live, ["bash"]));
    return {
      run: async (text) => {
        const begin = performance.now();
        const { outcome, output } = await session.run(text);
        const ms = performance.now() - begin;
        const status = outcome.kind === "exited" ? outcome.code : -1;
        const head = output.head.subarray(0, 65536);
        return { status, output: new TextDecoder().decode(head), bytes: output.totalBytes, ms };
      },
      pids: () => Promise.resolve([]),
      [Symbol.asyncDispose]: () => session.close(),
    };
  }

  async #unpack(archive: string, dir: string): Promise<Unpacked> {
    const node = new Node(dir);
    const { idmap, unpack, budget, store } = node;
    const { signal } = this.#site;
    const wishes = [{ archive, path: PATHS.venv }];
    const [layer] = await ensureLayers(store, wishes, { idmap, unpack, budget, signal });
    return {
      dir: `${layer!.tree}${PATHS.venv}`,
      settle: async () => {
        await store.settle(layer);
        layer![Symbol.dispose]();
        node[Symbol.dispose]();
      },
    };
  }
}
