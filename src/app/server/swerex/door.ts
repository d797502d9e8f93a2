/** Serves sandboxes over the HTTP protocol of SWE-ReX. */
import type * as z from "zod/mini";
import type { Log } from "../../../log.ts";
import { describeIssue } from "../../json_issue.ts";
import { serveHttp } from "../address.ts";
import type { LiveSandbox } from "../live_sandbox.ts";
import type { Server } from "../server.ts";
import { LostError, readBody, TooLongError } from "./body.ts";
import { ENDPOINTS } from "./endpoint.ts";
import { type Answer, refuse, succeed, toAnswer, toRefusal } from "./failure.ts";
import { keyCheck } from "./key.ts";
import { Places, type Prefix, readPath } from "./place.ts";
import { ReplayCache, type SentAnswer } from "./replay.ts";
import type { Compat } from "./session.ts";
import { takeUpload } from "./upload.ts";

/** How it serves. */
export interface SwerexOptions {
  /** `HOST:PORT`, or a port of this machine alone. */
  readonly address: string;
  readonly key: string;
  /** The sandbox of a path that names none. */
  readonly root: Prefix | null;
  readonly compat: ReadonlySet<Compat>;
  readonly log: Log;
}

/** Something that serves. */
export interface Door extends Disposable {
  readonly url: string;
  /** Takes no more requests, and answers those that run. */
  drain(): Promise<void>;
  /** Gives up on sandboxes that are being made. */
  [Symbol.dispose](): void;
}

/** Clients give is_alive 0.15 seconds: a sandbox that is being made is not waited for longer. */
const ALIVE_MS = 80;

/**
 * Serves until it is drained.
 *
 * @throws {UsageError | HostError} If it is no address, or cannot be had.
 */
export function openSwerex(server: Server, options: SwerexOptions): Door {
  const over = new AbortController();
  const door = new SwerexDoor(server, options, over.signal);
  const onError = (error: unknown) => {
    options.log("bug", { error: error instanceof Error ? error.stack ?? "" : String(error) });
    return toResponse(refuse(500, "Internal Server Error"));
  };
  const { address } = options;
  const http = serveHttp({ address, what: "SWE-ReX", onError }, (request) => door.answer(request));
  return {
    url: http.url,
    drain: async () => await http[Symbol.asyncDispose](),
    [Symbol.dispose]: () => over.abort(),
  };
}

class SwerexDoor {
  readonly #server: Server;
  readonly #options: SwerexOptions;
  readonly #isKey: (shown: string) => boolean;
  readonly #places: Places;
  readonly #replays = new ReplayCache();

  constructor(server: Server, options: SwerexOptions, over: AbortSignal) {
    this.#server = server;
    this.#options = options;
    this.#isKey = keyCheck(options.key);
    const caller = { gone: over, notify: () => Promise.resolve() };
    this.#places = new Places(server, { caller, signal: over });
  }

  async answer(request: Request): Promise<Response> {
    const shown = request.headers.get("x-api-key");
    if (shown === null) return toResponse(refuse(403, "Not authenticated"));
    if (!this.#isKey(shown)) return toResponse(refuse(401, "Invalid API Key"));
    try {
      return await this.#route(request);
    } catch (error) {
      if (error instanceof TooLongError) return toResponse(refuse(413, error.message));
      if (error instanceof LostError) return toResponse(refuse(400, error.message));
      throw error;
    }
  }

  async #route(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    const asked = readAsked(pathname, this.#options.root);
    const method = asked === null ? undefined : METHODS[asked.endpoint];
    if (asked === null || method === undefined) return toResponse(refuse(404, "Not Found"));
    if (request.method !== method) return toResponse(refuse(405, "Method Not Allowed"));
    const { prefix, endpoint } = asked;
    if (endpoint === "") return toResponse(succeed({ message: "hello world" }));
    if (endpoint === "is_alive") return toResponse(await this.#tellAlive(prefix));
    const id = request.headers.get("x-request-id");
    const work = async () => toSent(await this.#work(endpoint, prefix, request));
    return toResponse(await this.#replays.answer(id === null ? null : `${pathname} ${id}`, work));
  }

  async #work(endpoint: string, prefix: Prefix | null, request: Request): Promise<Answer> {
    if (endpoint === "upload") {
      return await this.#withSandbox(
        prefix,
        (sandbox) => sandbox.use(() => takeUpload(sandbox, request, this.#server)).catch(toAnswer),
      );
    }
    const { schema, run } = ENDPOINTS[endpoint]!;
    const parsed = parse(schema, await readBody(request));
    if ("refusal" in parsed) return parsed.refusal;
    const { node, metrics } = this.#server;
    const site = { node, metrics, compat: this.#options.compat, places: this.#places };
    return await this.#withSandbox(prefix, async (sandbox) => {
      try {
        return succeed(await run(sandbox, parsed.value, site));
      } catch (error) {
        return toAnswer(error);
      }
    });
  }

  async #withSandbox(
    prefix: Prefix | null,
    use: (sandbox: LiveSandbox) => Promise<Answer>,
  ): Promise<Answer> {
    let sandbox: LiveSandbox;
    try {
      sandbox = await this.#places.find(prefix);
    } catch (error) {
      return toRefusal(error);
    }
    return await use(sandbox);
  }

  /** It begins to make a sandbox that is made on first use. */
  async #tellAlive(prefix: Prefix | null): Promise<Answer> {
    const late = Promise.withResolvers<Answer>();
    const tell = (is_alive: boolean, message: string) => succeed({ is_alive, message });
    const found = this.#withSandbox(prefix, () => Promise.resolve(tell(true, "")));
    const timer = setTimeout(
      () => late.resolve(tell(false, "the sandbox is being made")),
      ALIVE_MS,
    );
    try {
      return await Promise.race([found, late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** What each endpoint is asked by. */
const METHODS: Readonly<Record<string, string>> = {
  __proto__: null as never,
  "": "GET",
  is_alive: "GET",
  upload: "POST",
  ...Object.fromEntries(Object.keys(ENDPOINTS).map((name) => [name, "POST"])),
};

/** Null where an escape in the path is none. */
function readAsked(path: string, root: Prefix | null): ReturnType<typeof readPath> | null {
  try {
    return readPath(path, root);
  } catch (error) {
    if (error instanceof URIError) return null;
    throw error;
  }
}

function parse(
  schema: z.ZodMiniType,
  body: unknown,
): { readonly value: unknown } | { readonly refusal: Answer } {
  if (body === undefined) {
    const issue = { type: "json_invalid", loc: ["body"], msg: "JSON decode error", input: {} };
    return { refusal: refuse(422, [issue]) };
  }
  const parsed = schema.safeParse(body);
  if (parsed.success) return { value: parsed.data };
  const issues = parsed.error.issues.map((issue) => ({
    type: issue.code,
    loc: ["body", ...issue.path.map((part) => typeof part === "number" ? part : String(part))],
    msg: describeIssue(issue, body),
    input: null,
  }));
  return { refusal: refuse(422, issues) };
}

function toSent(answer: Answer): SentAnswer {
  return { ...answer, body: JSON.stringify(answer.body) };
}

function toResponse({ status, body }: Answer | SentAnswer): Response {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return new Response(text, { status, headers: { "content-type": "application/json" } });
}
