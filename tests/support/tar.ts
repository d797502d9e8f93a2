/** Tar archives written byte by byte, so that a test can write what no tool would. */
import { concat } from "@std/bytes/concat";

const encoder = new TextEncoder();

/** One member; what is left out is as a tool would write it. */
export interface Member {
  readonly name: string | Uint8Array;
  /** The type character; a file by default. */
  readonly type?: string;
  readonly body?: string | Uint8Array;
  readonly target?: string | Uint8Array;
  readonly mode?: number;
  readonly uid?: number;
  readonly gid?: number;
  readonly mtime?: number;
  /** What the size field says, if not the body's length: a number or the field's bytes. */
  readonly size?: number | Uint8Array;
  readonly prefix?: string;
  /** What stands at byte 257; POSIX by default. */
  readonly magic?: string;
}

/** Writes an archive with its two zero blocks. */
export function tar(...members: readonly Member[]): Uint8Array<ArrayBuffer> {
  return concat([...members.map(member), new Uint8Array(1024)]);
}

/** Writes one member: header, body, padding. */
export function member(options: Member): Uint8Array<ArrayBuffer> {
  const { type = "0", target = "", mode = 0o644, uid = 0, gid = 0, mtime = 0 } = options;
  const body = bytesOf(options.body ?? "");
  const size = options.size ?? body.length;
  const block = new Uint8Array(512);
  block.set(bytesOf(options.name).subarray(0, 100));
  block.set(octal(mode, 8), 100);
  block.set(octal(uid, 8), 108);
  block.set(octal(gid, 8), 116);
  block.set(typeof size === "number" ? octal(size, 12) : size, 124);
  block.set(octal(mtime, 12), 136);
  block.set(encoder.encode(type), 156);
  block.set(bytesOf(target).subarray(0, 100), 157);
  block.set(encoder.encode(options.magic ?? "ustar\x0000"), 257);
  block.set(encoder.encode(options.prefix ?? ""), 345);
  sign(block);
  return concat([block, body, new Uint8Array((512 - body.length % 512) % 512)]);
}

/** Writes an extended header that holds pax records. */
export function pax(
  records: Readonly<Record<string, string | Uint8Array>>,
  type: "x" | "g" = "x",
): Member {
  const body = concat(Object.entries(records).map(([key, value]) => record(key, bytesOf(value))));
  return { name: "PaxHeaders/x", type, body };
}

/** Puts the checksum into a header. */
export function sign(block: Uint8Array): void {
  block.fill(0x20, 148, 156);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.set(encoder.encode(`${sum.toString(8).padStart(6, "0")}\0 `), 148);
}

function record(key: string, value: Uint8Array): Uint8Array {
  const rest = concat([encoder.encode(` ${key}=`), value, encoder.encode("\n")]);
  let length = rest.length;
  while (String(length).length + rest.length !== length) {
    length = String(length).length + rest.length;
  }
  return concat([encoder.encode(String(length)), rest]);
}

function octal(value: number, width: number): Uint8Array {
  return encoder.encode(`${value.toString(8).padStart(width - 1, "0")}\0`);
}

function bytesOf(text: string | Uint8Array): Uint8Array {
  return typeof text === "string" ? encoder.encode(text) : text;
}
