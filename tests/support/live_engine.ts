/** Sandboxes made in this process, as a server makes them. */
import { Node } from "../../src/app/node.ts";
import { Phases } from "../../src/app/outcome.ts";
import { openPlace, prepare, type Prepared } from "../../src/app/prepare.ts";
import { DEFAULT_SPEC } from "../../src/app/spec.ts";
import type { Process, Program, Sandbox, Stdio } from "../../src/sandbox/mod.ts";
import { openInput, outputPipe } from "../../src/session/mod.ts";
import { USES_USER_NAMESPACE } from "./identity.ts";

/** An engine, and what all its sandboxes share. */
export class LiveEngine implements Disposable {
  readonly node: Node;
  readonly #prepared: Prepared;

  private constructor(node: Node, prepared: Prepared) {
    this.node = node;
    this.#prepared = prepared;
  }

  /** Opens a store, and an engine that keeps its sandboxes there. */
  static async open(store: string): Promise<LiveEngine> {
    const node = new Node(store, { usesUserNamespace: USES_USER_NAMESPACE });
    const signal = new AbortController().signal;
    const spec = { ...DEFAULT_SPEC, command: ["true"] };
    return new LiveEngine(node, await prepare(node, spec, { phases: new Phases(), signal }));
  }

  /** Makes a sandbox for programs of a user; its directory goes with it. */
  async create(uid = 0): Promise<Sandbox & AsyncDisposable> {
    const place = await openPlace(this.node, DEFAULT_SPEC, this.#prepared);
    const sandbox = await this.node.engine.create(place.layout, { uid, gid: uid }, place);
    return Object.assign(sandbox, {
      [Symbol.asyncDispose]: async () => {
        await sandbox.close();
        await place[Symbol.asyncDispose]();
      },
    });
  }

  [Symbol.dispose](): void {
    this.#prepared[Symbol.dispose]();
    this.node[Symbol.dispose]();
  }
}

/** A program of root with the usual variables; `asUser` makes it another's. */
export function command(...argv: readonly [string, ...string[]]): Program {
  return {
    argv,
    env: ["PATH=/usr/bin:/bin"],
    searchPath: ["/usr/bin", "/bin"],
    workdir: "/",
    uid: 0,
    gid: 0,
    groups: [],
    pty: null,
    hasStdin: true,
  };
}

/** The same program as a user. */
export function asUser(program: Program, uid: number): Program {
  return { ...program, uid, gid: uid };
}

/** Descriptors of a program that reads and writes nothing. */
export function silent(): Stdio {
  const open = () => openInput("/dev/null");
  return { stdin: open(), stdout: open(), stderr: open() };
}

/** Starts a program whose output is read. */
export async function startReading(
  sandbox: Sandbox,
  program: Program,
): Promise<{ readonly process: Process; readonly output: AsyncIterable<Uint8Array> }> {
  const { ours, theirs } = outputPipe();
  const process = await sandbox.start(program, { ...silent(), stdout: theirs });
  return { process, output: ours };
}

/** Reads all that a program prints. */
export async function readAll(output: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of output) text += decoder.decode(chunk, { stream: true });
  return text;
}
