/** Bytes in a patch as git writes them: deflated, in base 85, 52 bytes a line. */
import { deflateSync } from "node:zlib";

const ALPHABET =
  "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

const LINE_BYTES = 52;

/** That of git, if nothing else is configured. */
const LEVEL = 1;

/** Says whether git takes bytes for no text: a NUL lies near their start. */
export function isBinary(bytes: Uint8Array): boolean {
  return bytes.subarray(0, 8000).includes(0);
}

/** Writes the bytes of one side, with the empty line that ends them. */
export function toLiteral(bytes: Uint8Array): string {
  const packed = deflateSync(bytes, { level: LEVEL });
  const lines = [`literal ${bytes.length}`];
  for (let at = 0; at < packed.length; at += LINE_BYTES) {
    const line = packed.subarray(at, at + LINE_BYTES);
    lines.push(lengthMark(line.length) + toBase85(line));
  }
  return `${lines.join("\n")}\n\n`;
}

/** A to Z for 1 to 26, a to z for 27 to 52. */
function lengthMark(length: number): string {
  return String.fromCharCode(length <= 26 ? 0x40 + length : 0x60 + length - 26);
}

/** Four bytes make five characters; what lacks at the end is zero. */
function toBase85(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 4) {
    let value = 0;
    for (let i = 0; i < 4; i++) value = value * 256 + (bytes[at + i] ?? 0);
    let group = "";
    for (let i = 0; i < 5; i++) {
      group = ALPHABET[value % 85] + group;
      value = Math.floor(value / 85);
    }
    text += group;
  }
  return text;
}
