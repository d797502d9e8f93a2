/** Use case: calls to a server that runs, as its operator makes them. */
import { MinisandboxError } from "../../errors.ts";
import { AnswerError, Client } from "../../rpc/mod.ts";
import { connectTo as connectSocket } from "../../session/mod.ts";

/** A connection to a server. */
export interface ServerClient extends Disposable {
  /**
   * Calls a method.
   *
   * @throws {RemoteError} If the server answers with an error.
   * @throws {GoneError} If it ends first.
   */
  call<T>(method: string, params: object): Promise<T>;
}

/** What a server has answered with. */
export class RemoteError extends MinisandboxError {
  override readonly rpcCode: number;
  override readonly kind: string;
  override readonly exitCode: number;

  constructor({ message, code, data }: AnswerError) {
    super(message);
    this.rpcCode = code;
    this.kind = data.kind;
    const { exitCode } = data;
    this.exitCode = typeof exitCode === "number" ? exitCode : 125;
  }
}

/** Connects to the server at a socket. @throws {HostError} If nobody listens there. */
export function connectTo(
  path: string,
  onNotification?: (method: string, params: unknown) => void,
): ServerClient {
  const { input, output } = connectSocket(path);
  const client = new Client({
    input,
    output,
    ...(onNotification === undefined ? {} : { onNotification }),
  });
  client.ended.catch(() => {}); // told to whoever calls
  return {
    call: async <T>(method: string, params: object) => {
      try {
        return await client.call<T>(method, params);
      } catch (error) {
        throw error instanceof AnswerError ? new RemoteError(error) : error;
      }
    },
    [Symbol.dispose]: () => {
      input.close();
      output.close();
    },
  };
}
