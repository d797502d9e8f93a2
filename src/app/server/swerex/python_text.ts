/** Bytes and text as Python turns one into the other: its names of encodings, its error handlers. */
import { Raised } from "./failure.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** What stands for a byte that is no text. */
const HANDLERS: Readonly<Record<string, (byte: number) => string>> = {
  backslashreplace: (byte) => `\\x${byte.toString(16).padStart(2, "0")}`,
  ignore: () => "",
  surrogateescape: (byte) => String.fromCharCode(0xdc00 + byte),
};

/** So many characters are made of bytes at once. */
const STEP = 8192;

/**
 * Decodes as `bytes.decode(encoding, errors)` does.
 *
 * @throws {Raised} If the encoding or the handler is unknown, or the bytes are no text.
 */
export function decodePython(bytes: Bytes, encoding = "utf-8", errors = "strict"): string {
  const label = encoding.toLowerCase().replaceAll(/[_ ]/g, "-");
  if (/^(latin-?1|l1|iso-?8859-1|8859|cp819)$/.test(label)) return toCharacters(bytes);
  if (/^(us-)?ascii$/.test(label)) return decodeAscii(bytes, errors);
  const isUtf8 = /^(utf-?8|u8|utf|cp65001)$/.test(label);
  const utf16 = /^(?:utf-?16|u16)(-?[lb]e)?$/.exec(label);
  if (utf16 !== null) return decodeUtf16(bytes, utf16[1]?.at(-2), errors);
  if (label === "utf-8-sig") return decodePython(withoutMark(bytes), "utf-8", errors);
  const strict = decoderOf(isUtf8 ? "utf-8" : label, encoding, true);
  try {
    return strict.decode(bytes);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
  if (errors === "strict") throw noText(encoding);
  if (errors === "replace") {
    return decoderOf(isUtf8 ? "utf-8" : label, encoding, false).decode(bytes);
  }
  const handle = HANDLERS[errors];
  if (handle === undefined || !isUtf8) throw noHandler(errors);
  return decodeUtf8(bytes, handle);
}

/** Decodes what a program has printed, as SWE-ReX tells it. */
export function decodeOutput(bytes: Bytes): string {
  return decodePython(bytes, "utf-8", "backslashreplace");
}

/** Encodes as `str.encode()` does. @throws {Raised} If a half of a character stands alone. */
export function encodePython(text: string): Bytes {
  if (!text.isWellFormed()) throw new Raised("encode", "surrogates not allowed in UTF-8");
  return new TextEncoder().encode(text);
}

function decodeAscii(bytes: Bytes, errors: string): string {
  if (bytes.every((byte) => byte < 0x80)) return toCharacters(bytes);
  if (errors === "strict") throw noText("ascii");
  const handle = errors === "replace" ? () => "\ufffd" : HANDLERS[errors];
  if (handle === undefined) throw noHandler(errors);
  return Array.from(bytes, (byte) => byte < 0x80 ? String.fromCharCode(byte) : handle(byte)).join(
    "",
  );
}

/** Without an order of bytes its mark tells of it, and is no text; without that it is little-endian. */
function decodeUtf16(bytes: Bytes, order: string | undefined, errors: string): string {
  const isMarked = (bytes[0] === 0xff && bytes[1] === 0xfe) ||
    (bytes[0] === 0xfe && bytes[1] === 0xff);
  const isBig = order === "b" || (order === undefined && isMarked && bytes[0] === 0xfe);
  const text = order === undefined && isMarked ? bytes.subarray(2) : bytes;
  if (errors !== "strict" && errors !== "replace") throw noHandler(errors);
  try {
    return decoderOf(isBig ? "utf-16be" : "utf-16le", "utf-16", errors === "strict").decode(text);
  } catch (error) {
    throw error instanceof TypeError ? noText("utf-16") : error;
  }
}

function decodeUtf8(bytes: Bytes, handle: (byte: number) => string): string {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let text = "";
  let begin = 0;
  for (let at = 0; at < bytes.length;) {
    const length = characterLength(bytes, at);
    if (length > 0) {
      at += length;
      continue;
    }
    text += decoder.decode(bytes.subarray(begin, at)) + handle(bytes[at]!);
    begin = ++at;
  }
  return text + decoder.decode(bytes.subarray(begin));
}

/** How many bytes the character has that begins here; 0 if none does (RFC 3629, section 4). */
function characterLength(bytes: Bytes, at: number): number {
  const first = bytes[at]!;
  if (first < 0x80) return 1;
  const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) return 0;
  const least = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
  const most = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
  for (let i = 1; i < length; i++) {
    const byte = bytes[at + i] ?? 0;
    if (byte < (i === 1 ? least : 0x80) || byte > (i === 1 ? most : 0xbf)) return 0;
  }
  return length;
}

function toCharacters(bytes: Bytes): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += STEP) {
    text += String.fromCharCode(...bytes.subarray(at, at + STEP));
  }
  return text;
}

function withoutMark(bytes: Bytes): Bytes {
  const isMarked = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  return isMarked ? bytes.subarray(3) : bytes;
}

function decoderOf(label: string, encoding: string, fatal: boolean): TextDecoder {
  try {
    return new TextDecoder(label, { fatal, ignoreBOM: true });
  } catch {
    throw new Raised("encoding", `unknown encoding: ${encoding}`);
  }
}

function noText(encoding: string): Raised {
  return new Raised("decode", `'${encoding}' codec can't decode the file: it is no such text`);
}

function noHandler(errors: string): Raised {
  return new Raised("encoding", `unknown error handler name '${errors}'`);
}
