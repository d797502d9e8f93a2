/** Bodies of requests, in bounded memory. */
import { concat } from "@std/bytes/concat";

/** A body that is longer than may be. */
export class TooLongError extends Error {}

/** A body whose sender has gone. */
export class LostError extends Error {}

/** JSON makes text longer, at worst six times. */
const MOST_BYTES = 256 << 20;

/** Gives a body as it comes. @throws {LostError} If the client goes before its end. */
export async function* bodyOf(request: Request): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  try {
    yield* request.body ?? [];
  } catch (cause) {
    throw new LostError("the body was cut short", { cause });
  }
}

/**
 * Reads a body of JSON: null if it is empty, undefined if it is none.
 *
 * @throws {TooLongError | LostError} If it is too long, or is cut short.
 */
export async function readBody(request: Request): Promise<unknown> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of bodyOf(request)) {
    size += piece.length;
    if (size > MOST_BYTES) throw new TooLongError(`the body is longer than ${MOST_BYTES} bytes`);
    pieces.push(piece);
  }
  if (size === 0) return null;
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(concat(pieces)));
  } catch {
    return undefined;
  }
}
