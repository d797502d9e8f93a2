/** A form with files as it comes in (RFC 7578), piece by piece. */
import { Buffer } from "node:buffer";

type Bytes = Uint8Array<ArrayBuffer>;

/** A field of a form; the next comes once its bytes were taken. */
export interface FormPart {
  readonly name: string;
  readonly bytes: AsyncIterable<Bytes>;
}

/** A body that is no form. */
export class FormError extends Error {}

const CRLF = "\r\n";
const MOST_HEADER_BYTES = 16 * 1024;

/** Gives the fields. @throws {FormError} If it is no such form, or is cut short. */
export async function* readForm(
  body: AsyncIterable<Uint8Array>,
  contentType: string | null,
): AsyncGenerator<FormPart> {
  const boundary = boundaryOf(contentType ?? "");
  const input = new Input(body);
  const delimiter = `${CRLF}--${boundary}`;
  input.unread(CRLF); // the first delimiter may stand at the very start
  for await (const _ of input.upTo(delimiter)) { /* what stands before it is nobody's */ }
  for (;;) {
    const rest = (await input.line()).trim();
    if (rest === "--") return;
    if (rest !== "") throw new FormError("a delimiter is not alone on its line");
    const name = await readName(input);
    const bytes = input.upTo(delimiter);
    yield { name, bytes };
    for await (const _ of bytes) { /* whoever did not want the rest */ }
  }
}

function boundaryOf(type: string): string {
  const [, quoted, plain] =
    /^multipart\/form-data\s*;(?:.*;)?\s*boundary=(?:"([^"]+)"|([^\s;"]+))/i.exec(type) ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined || boundary.length > 200) {
    throw new FormError("it is no multipart/form-data with a boundary");
  }
  return boundary;
}

async function readName(input: Input): Promise<string> {
  let name: string | undefined;
  let size = 0;
  for (;;) {
    const line = await input.line();
    if (line === "") break;
    size += line.length;
    if (size > MOST_HEADER_BYTES) throw new FormError("a field has too long a header");
    const [, disposition] = /^content-disposition:\s*form-data(.*)$/i.exec(line) ?? [];
    if (disposition === undefined) continue;
    const [, quoted, plain] = /;\s*name=(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))/i.exec(disposition) ??
      [];
    name = quoted ?? plain;
  }
  if (name === undefined) throw new FormError("a field has no name");
  return name;
}

/** Bytes that have come, and those that come. */
class Input {
  readonly #source: AsyncIterator<Uint8Array>;
  #bytes: Bytes = new Uint8Array();

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  unread(text: string): void {
    this.#bytes = new Uint8Array([...new TextEncoder().encode(text), ...this.#bytes]);
  }

  /** Gives what stands before a text, and passes over that. */
  async *upTo(text: string): AsyncGenerator<Bytes> {
    for (;;) {
      const at = this.#find(text);
      if (at >= 0) {
        const found = this.#take(at);
        this.#take(text.length);
        if (found.length > 0) yield found;
        return;
      }
      // The text may have begun at the end of what is here.
      const sure = this.#bytes.length - text.length + 1;
      if (sure > 0) yield this.#take(sure);
      await this.#more();
    }
  }

  async line(): Promise<string> {
    for (;;) {
      const at = this.#find(CRLF);
      if (at >= 0) {
        const line = new TextDecoder().decode(this.#take(at));
        this.#take(CRLF.length);
        return line;
      }
      if (this.#bytes.length > MOST_HEADER_BYTES) throw new FormError("a line is too long");
      // The last delimiter need not end its line.
      if (this.#find("--") === 0) return "--";
      await this.#more();
    }
  }

  #find(text: string): number {
    const { buffer, byteOffset, length } = this.#bytes;
    return Buffer.from(buffer, byteOffset, length).indexOf(text, 0, "latin1");
  }

  #take(count: number): Bytes {
    const taken = this.#bytes.subarray(0, count);
    this.#bytes = this.#bytes.subarray(count);
    return taken;
  }

  async #more(): Promise<void> {
    const { value, done } = await this.#source.next();
    if (done) throw new FormError("it is cut short");
    const all = new Uint8Array(this.#bytes.length + value.length);
    all.set(this.#bytes);
    all.set(value, this.#bytes.length);
    this.#bytes = all;
  }
}
