/** Which sandbox the path of a request names. */
import { NotFoundError } from "../../../errors.ts";
import { DEFAULT_WISH, settleSpec } from "../../settle.ts";
import type { Call } from "../call.ts";
import type { LiveSandbox } from "../live_sandbox.ts";
import type { Server } from "../server.ts";

/** A sandbox by its id, by the key that sandbox.create was given, or made from an environment. */
export type Prefix =
  | { readonly kind: "id"; readonly id: string }
  | { readonly kind: "key"; readonly key: string }
  | { readonly kind: "environment"; readonly environment: string; readonly key: string };

/** What a path asks, and of whom; null if it says nobody. */
export interface Asked {
  readonly prefix: Prefix | null;
  readonly endpoint: string;
}

/** How the paths look, for messages. */
const FORMS = "/SANDBOX_ID, /k/KEY or /e/ENVIRONMENT/KEY";

/**
 * Reads a path; what names no sandbox means that of `root`.
 *
 * @throws {URIError} If an escape in it is none.
 */
export function readPath(path: string, root: Prefix | null): Asked {
  const parts = path.split("/").filter((part) => part !== "").map(decodeURIComponent);
  const prefix = readPrefix(parts);
  if (prefix === null) return { prefix: root, endpoint: parts.join("/") };
  return { prefix, endpoint: parts.slice(LENGTHS[prefix.kind]).join("/") };
}

/** Reads what is to stand for a path without a sandbox; null if it is none. */
export function parseRoot(text: string): Prefix | null {
  const parts = text.split("/").filter((part) => part !== "");
  const prefix = readPrefix(parts);
  return prefix !== null && parts.length === LENGTHS[prefix.kind] ? prefix : null;
}

const LENGTHS = { id: 1, key: 2, environment: 3 } as const;

function readPrefix([first, second, third]: readonly string[]): Prefix | null {
  if (first === "e" && second !== undefined && third !== undefined) {
    return { kind: "environment", environment: second, key: third };
  }
  if (first === "k" && second !== undefined) return { kind: "key", key: second };
  if (first?.startsWith("sb-") === true) return { kind: "id", id: first };
  return null;
}

/** Finds sandboxes, and makes those that are made on first use. */
export class Places {
  readonly #server: Server;
  readonly #call: Call;
  /** What was made here, and is ended here. */
  readonly #made = new WeakSet<LiveSandbox>();

  constructor(server: Server, call: Call) {
    this.#server = server;
    this.#call = call;
  }

  /**
   * Gives the sandbox.
   *
   * @throws {NotFoundError | GoneError} If there is none.
   * @throws {MinisandboxError} If it cannot be made.
   */
  async find(prefix: Prefix | null): Promise<LiveSandbox> {
    if (prefix === null) {
      throw new NotFoundError("Cannot find the sandbox: the path names none", {
        remedy: `Begin it with ${FORMS}, or give serve --swerex-root.`,
      });
    }
    if (prefix.kind === "id") return this.#server.find(prefix.id);
    const { key } = prefix;
    const name = prefix.kind === "key" ? key : `e/${prefix.environment}/${key}`;
    const known = await this.#server.findKey(name);
    if (known !== null) return known;
    if (prefix.kind === "environment") return await this.#make(prefix.environment, name);
    throw new NotFoundError(`Cannot use the sandbox of key ${JSON.stringify(key)}: none lives`, {
      remedy: "Make one by sandbox.create with this key.",
    });
  }

  /** Whether it was made by a first use. */
  hasMade(sandbox: LiveSandbox): boolean {
    return this.#made.has(sandbox);
  }

  async #make(environment: string, key: string): Promise<LiveSandbox> {
    const { node } = this.#server;
    const spec = settleSpec(node.store, { ...DEFAULT_WISH, environment });
    const { sandbox, isNew } = await this.#server.create(spec, {
      key,
      labels: {},
      owner: null,
      ttlMs: this.#server.mostLife(),
      idleMs: this.#server.mostIdle(),
      startTimeoutMs: null,
    }, this.#call);
    if (isNew) this.#made.add(sandbox);
    return sandbox;
  }
}
