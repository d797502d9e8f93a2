/** Bytes to messages and back: one a line, or each after a header with its length. */
import { ParseError, RequestError } from "../errors.ts";
import { Gather } from "./gather.ts";

/** How messages are told apart: by newlines, or by `Content-Length:` headers. */
export type Framing = "line" | "header";

/** The bytes of one message, valid until the next is asked for; or why there is none. */
export type Frame = Uint8Array | RequestError | ParseError;

const NEWLINE = 0x0a;

/** What a connection with headers begins with, whatever the case; no JSON does. */
const HEADER_START = "content-";

/** No line of a header is longer. */
const MAX_HEADER_BYTES = 4096;

const CONTENT_LENGTH = /(?<![\w-])content-length: *(\d+)\s*$/i;
const HEADER_LINE = /^[\w-]+:/;

/** Tells messages apart as their bytes come. A message over the bound is skipped, not held. */
export class FrameDecoder {
  readonly #maxBytes: number;
  readonly #gather = new Gather();
  #framing: Framing | null = null;
  /** What is left of a body; null in a header. */
  #bodyLeft: number | null = null;
  #nextLength: number | null = null;
  /** Whether a header made no sense: the next that names a length is looked for. */
  #isLost = false;

  constructor(maxMessageBytes: number) {
    this.#maxBytes = maxMessageBytes;
  }

  /** How this peer tells its messages apart; by lines until it has begun. */
  get framing(): Framing {
    return this.#framing ?? "line";
  }

  /** Gives the messages that end in a chunk. The chunk is the caller's again afterwards. */
  *push(chunk: Uint8Array): Generator<Frame> {
    if (this.#framing !== null) return yield* this.#split(chunk);
    // Too few bytes to recognise the framing are gathered, and seen again with the next chunk.
    const held = this.#gather.take() ?? new Uint8Array();
    const start = new Uint8Array(held.length + chunk.length);
    start.set(held);
    start.set(chunk, held.length);
    const blank = countBlank(start);
    this.#framing = recognise(start.subarray(blank));
    if (this.#framing !== null) yield* this.#split(start.subarray(blank));
    else this.#gather.add(start.subarray(blank), this.#maxBytes);
  }

  /** Gives what is left when no more bytes come: a last line, or the fault of half a message. */
  *end(): Generator<Frame> {
    if (this.#framing === "header") {
      if (this.#bodyLeft !== null || this.#nextLength !== null || !this.#gather.isEmpty) {
        yield new ParseError("Cannot read a message: the input ended within it");
      }
    } else {
      const line = this.#gather.take();
      if (line !== null && !isBlank(line)) yield line;
    }
  }

  *#split(chunk: Uint8Array): Generator<Frame> {
    for (let at = 0; at < chunk.length;) {
      if (this.#bodyLeft !== null) {
        const part = chunk.subarray(at, at + this.#bodyLeft);
        at += part.length;
        yield* this.#addBody(part);
        continue;
      }
      const newline = chunk.indexOf(NEWLINE, at);
      const end = newline < 0 ? chunk.length : newline;
      const part = chunk.subarray(at, end);
      yield* newline < 0 ? this.#addLine(part) : this.#endLine(part);
      at = end + 1;
    }
  }

  *#addLine(part: Uint8Array): Generator<Frame> {
    if (this.#framing === "header") {
      if (!this.#gather.add(part, MAX_HEADER_BYTES)) yield* this.#lose();
    } else if (!this.#gather.add(part, this.#maxBytes)) yield this.#tooLong();
  }

  *#endLine(part: Uint8Array): Generator<Frame> {
    let line: Uint8Array | null = part;
    const maxBytes = this.#framing === "header" ? MAX_HEADER_BYTES : this.#maxBytes;
    if (!this.#gather.isEmpty || part.length > maxBytes) {
      yield* this.#addLine(part);
      line = this.#gather.take();
    }
    if (line === null) return;
    if (this.#framing === "header") yield* this.#readHeaderLine(line);
    else if (!isBlank(line)) yield line;
  }

  *#readHeaderLine(bytes: Uint8Array): Generator<Frame> {
    const line = toLatin1(bytes);
    const length = Number(CONTENT_LENGTH.exec(line)?.[1] ?? NaN);
    if (Number.isSafeInteger(length)) {
      this.#isLost = false;
      this.#nextLength = length;
    } else if (line.trim() !== "") {
      if (!HEADER_LINE.test(line) || /^content-length:/i.test(line)) yield* this.#lose();
    } else if (this.#nextLength !== null) yield* this.#beginBody(this.#nextLength);
  }

  *#beginBody(length: number): Generator<Frame> {
    this.#nextLength = null;
    this.#bodyLeft = length;
    if (length > this.#maxBytes) {
      this.#gather.skip();
      yield this.#tooLong();
    } else if (length === 0) yield* this.#addBody(new Uint8Array());
  }

  *#addBody(part: Uint8Array): Generator<Frame> {
    this.#bodyLeft = (this.#bodyLeft ?? 0) - part.length;
    const isWhole = this.#bodyLeft === 0 && this.#gather.isEmpty;
    if (!isWhole) this.#gather.add(part, this.#maxBytes);
    if (this.#bodyLeft > 0) return;
    this.#bodyLeft = null;
    const body = isWhole ? part : this.#gather.take();
    if (body !== null) yield body;
  }

  *#lose(): Generator<Frame> {
    this.#nextLength = null;
    if (this.#isLost) return;
    this.#isLost = true;
    yield new RequestError('Cannot read a message: its header has no valid "Content-Length"');
  }

  #tooLong(): RequestError {
    return new RequestError(`Cannot read a message: it is longer than ${this.#maxBytes} bytes`);
  }
}

/** Gives the bytes of a message as the peer reads it. */
export function encodeFrame(text: string, framing: Framing): Uint8Array<ArrayBuffer> {
  if (framing === "line") return encoder.encode(text + "\n");
  const body = encoder.encode(text);
  const header = encoder.encode(`Content-Length: ${body.length}\r\n\r\n`);
  const frame = new Uint8Array(header.length + body.length);
  frame.set(header);
  frame.set(body, header.length);
  return frame;
}

const encoder = new TextEncoder();

/** Null if a header may still come of it. */
function recognise(start: Uint8Array): Framing | null {
  const text = toLatin1(start.subarray(0, HEADER_START.length)).toLowerCase();
  if (text === HEADER_START) return "header";
  return HEADER_START.startsWith(text) ? null : "line";
}

function countBlank(bytes: Uint8Array): number {
  const isBlankByte = (byte: number): boolean => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);
  const end = bytes.findIndex((byte) => !isBlankByte(byte));
  return end < 0 ? bytes.length : end;
}

function isBlank(line: Uint8Array): boolean {
  return countBlank(line) === line.length;
}

function toLatin1(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes);
}
