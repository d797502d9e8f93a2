/** A server that SWE-ReX clients may call, and a client that shows what it is answered. */
import { assertEquals } from "@std/assert";
import { TestServer } from "./rpc_client.ts";

/** The key that its server knows. */
export const KEY = "key-of-a-test";

/** An answer. */
export interface SwerexAnswer {
  readonly status: number;
  // deno-lint-ignore no-explicit-any
  readonly body: any;
}

/** A server on stdin and stdout, and over HTTP. */
export class SwerexServer implements AsyncDisposable {
  readonly rpc: TestServer;
  readonly #keyFile = Deno.makeTempFileSync({ prefix: "minisandbox-test-" });
  #url: string | undefined;

  constructor(...args: readonly string[]) {
    Deno.writeTextFileSync(this.#keyFile, `${KEY}\n`);
    const options = ["--stdio", "--swerex", "0", "--swerex-key-file", this.#keyFile];
    this.rpc = new TestServer(...options, ...args);
  }

  /** Sends a request as it is. */
  async fetch(path: string, init: RequestInit = {}): Promise<SwerexAnswer> {
    this.#url ??= /url="([^"]+)"/.exec(await this.rpc.untilLogged(/ swerex /))![1]!;
    const response = await fetch(`${this.#url}${path}`, {
      ...init,
      headers: { "x-api-key": KEY, ...init.headers },
    });
    return { status: response.status, body: await response.json() };
  }

  /** Posts JSON. */
  post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<SwerexAnswer> {
    return this.fetch(path, { method: "POST", body: JSON.stringify(body), headers });
  }

  /** Posts JSON to what answers with success, and gives that. */
  // deno-lint-ignore no-explicit-any
  async ok(path: string, body: unknown): Promise<any> {
    const answer = await this.post(path, body);
    assertEquals([answer.status, answer.status === 200 ? null : answer.body], [200, null]);
    return answer.body;
  }

  /** Posts JSON to what the client is to raise, and gives the class and the rest of it. */
  async raised(path: string, body: unknown): Promise<{
    readonly class_path: string;
    readonly message: string;
    readonly extra_info: Record<string, string>;
  }> {
    const answer = await this.post(path, body);
    assertEquals(answer.status, 511, JSON.stringify(answer.body));
    return answer.body.swerexception;
  }

  /** Sends a file to be put somewhere. */
  upload(
    path: string,
    { bytes, target, isZip = false }: {
      readonly bytes: Uint8Array<ArrayBuffer>;
      readonly target: string;
      readonly isZip?: boolean;
    },
  ): Promise<SwerexAnswer> {
    const body = new FormData();
    body.append("file", new Blob([bytes]), "name");
    body.append("target_path", target);
    body.append("unzip", String(isZip));
    return this.fetch(`${path}/upload`, { method: "POST", body });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.rpc.end();
    Deno.removeSync(this.#keyFile);
  }
}
