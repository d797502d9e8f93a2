/** Bytes as JSON carries them: text, marked where it had to be mended, and base64 on request. */
import { UsageError } from "../../errors.ts";

/** Bytes that a caller sends. */
export type BytesWish = string | { readonly base64: string };

/** Whether a caller wants base64 beside text: always, never, or where text is not the bytes. */
export type Base64Wish = boolean | "ifLossy";

/** Bytes that a caller gets. */
export interface Text {
  /** The bytes as UTF-8; each that is none is U+FFFD. */
  readonly text: string;
  /** Whether a byte was no UTF-8: then `text` is not the bytes. */
  readonly lossy: boolean;
  /** The bytes themselves, where asked for. */
  readonly base64?: string;
}

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const mending = new TextDecoder("utf-8", { ignoreBOM: true });
const encoder = new TextEncoder();

/** Gives bytes as text. */
export function toText(bytes: Uint8Array, withBase64: Base64Wish): Text {
  const raw = (isWanted: boolean) => isWanted ? { base64: bytes.toBase64() } : {};
  try {
    return { text: strict.decode(bytes), lossy: false, ...raw(withBase64 === true) };
  } catch {
    return { text: mending.decode(bytes), lossy: true, ...raw(withBase64 !== false) };
  }
}

/** Takes bytes from a caller. @throws {UsageError} If they are no base64. */
export function toBytes(wish: BytesWish): Uint8Array<ArrayBuffer> {
  if (typeof wish === "string") return encoder.encode(wish);
  try {
    return Uint8Array.fromBase64(wish.base64);
  } catch {
    throw new UsageError("Cannot read bytes: they are no base64");
  }
}

/** Says how many bytes at the end begin a character that is not complete. */
export function incompleteTail(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!;
    if ((byte & 0b1100_0000) === 0b1000_0000) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}

/** Says how many bytes at the start end a character that is not complete. */
export function incompleteHead(bytes: Uint8Array): number {
  const at = bytes.subarray(0, 4).findIndex((byte) => (byte & 0b1100_0000) !== 0b1000_0000);
  return at > 0 && at < 4 ? at : 0;
}
