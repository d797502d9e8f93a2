/** Sandboxes and sessions made in this process, as a server makes them. */
import { Node } from "../src/app/node.ts";
import { Phases } from "../src/app/outcome.ts";
import { toProgram } from "../src/app/program.ts";
import { openPlace, prepare, type Prepared } from "../src/app/prepare.ts";
import { openSession } from "../src/app/session.ts";
import { DEFAULT_SPEC, type SandboxSpec } from "../src/app/spec.ts";
import type { Shell } from "../src/session/mod.ts";

const SPEC: SandboxSpec = { ...DEFAULT_SPEC, command: ["bash"] };

/** An engine, and what all its sandboxes share. */
export class LiveRoom implements Disposable {
  readonly #node: Node;
  readonly #prepared: Prepared;

  private constructor(node: Node, prepared: Prepared) {
    this.#node = node;
    this.#prepared = prepared;
  }

  /** Opens a store, and an engine that keeps its sandboxes there. */
  static async open(store: string): Promise<LiveRoom> {
    const node = new Node(store);
    const signal = new AbortController().signal;
    return new LiveRoom(node, await prepare(node, SPEC, { phases: new Phases(), signal }));
  }

  /** Opens a session in a sandbox of its own, which goes with it. */
  async session(): Promise<{ readonly shell: Shell } & AsyncDisposable> {
    const { user } = this.#prepared;
    const program = toProgram(SPEC, user);
    const place = await openPlace(this.#node, SPEC, this.#prepared);
    const sandbox = await this.#node.engine.create(place.layout, user, place);
    const shell = await openSession(sandbox, program);
    return {
      shell,
      [Symbol.asyncDispose]: async () => {
        await shell.close();
        await sandbox.close();
        await place[Symbol.asyncDispose]();
      },
    };
  }

  [Symbol.dispose](): void {
    this.#prepared[Symbol.dispose]();
    this.#node[Symbol.dispose]();
  }
}
