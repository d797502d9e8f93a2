/** Answers as text. */
import type { RpcErrorBody } from "./error.ts";
import type { Id } from "./message.ts";

/** What a request is answered with. */
export type Answer =
  | { readonly id: Id; readonly result: unknown }
  | { readonly id: Id; readonly error: RpcErrorBody };

/**
 * Writes an answer; a result that is undefined becomes null.
 *
 * @throws {TypeError} If the result is not JSON: a fault of the method.
 */
export function toText(answer: Answer): string {
  const [name, value] = "error" in answer ? ["error", answer.error] : ["result", answer.result];
  const text: string | undefined = JSON.stringify(value ?? null);
  if (text === undefined) throw new TypeError(`The ${name} is not JSON: ${typeof value}`);
  return `{"jsonrpc":"2.0","id":${JSON.stringify(answer.id)},"${name}":${text}}`;
}
