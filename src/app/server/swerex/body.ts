/** Bodies of requests, in bounded memory. */
import { concat } from "@std/bytes/concat";

/** A body that is longer than may be. */
export class TooLongError extends Error {}

/** JSON makes text longer, at worst six times. */
const MOST_BYTES = 256 << 20;

/** Reads a body of JSON: null if it is empty, undefined if it is none. @throws {TooLongError} If it is too long. */
export async function readBody(request: Request): Promise<unknown> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of request.body ?? []) {
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
