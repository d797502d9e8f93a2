/** The 512 bytes before each entry: tar's header, as V7, POSIX, GNU and star write it (tar(5)). */
import { BLOCK_BYTES } from "./block.ts";
import { parseNumber, parseOctal } from "./number.ts";
import type { Place } from "./place.ts";

/** A header's fields, not yet joined with what extended headers say. */
export interface Header {
  /** The type as one character; NUL is "0". */
  readonly type: string;
  readonly name: Uint8Array;
  readonly target: Uint8Array;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly size: number;
  /** In seconds. */
  readonly mtime: number;
  /** Whether both device numbers are 0. */
  readonly isDeviceZero: boolean;
}

/** Says whether a block's checksum is right: the sum of its bytes, signed in some old archives. */
export function isHeader(block: Uint8Array): boolean {
  let unsigned = 0;
  let high = 0;
  for (let i = 0; i < BLOCK_BYTES; i++) {
    const byte = i >= 148 && i < 156 ? 0x20 : block[i]!;
    unsigned += byte;
    if (byte > 127) high++;
  }
  const stored = parseOctal(block, 148, 156);
  return stored !== null && (stored === unsigned || stored === unsigned - 256 * high);
}

/**
 * Parses a header whose checksum is right.
 *
 * @throws {ArchiveError} If a number is malformed, negative where that makes no sense, or too large.
 */
export function parseHeader(block: Uint8Array, place: Place): Header {
  const name = fullName(block);
  place.entry = name;
  const number = (from: number, to: number, what: string): number => {
    const value = parseNumber(block, from, to);
    if (value === null) throw place.refuse(`has a malformed ${what}`);
    return value;
  };
  const natural = (from: number, to: number, what: string): number => {
    const value = number(from, to, what);
    if (value < 0) throw place.refuse(`has a negative ${what}`);
    return value;
  };
  return {
    type: block[156] === 0 ? "0" : String.fromCharCode(block[156]!),
    name,
    target: field(block, 157, 257),
    mode: natural(100, 108, "mode") & 0o7777,
    uid: natural(108, 116, "owner"),
    gid: natural(116, 124, "group"),
    size: natural(124, 136, "size"),
    mtime: number(136, 148, "time"),
    isDeviceZero: parseNumber(block, 329, 337) === 0 && parseNumber(block, 337, 345) === 0,
  };
}

/** POSIX keeps the start of a long name in a prefix; GNU has other things there, star less room. */
function fullName(block: Uint8Array): Uint8Array {
  const name = field(block, 0, 100);
  const isPosix = hasText(block, 257, "ustar\0");
  if (!isPosix || block[345] === 0) return name;
  const prefix = field(block, 345, hasText(block, 508, "tar\0") ? 476 : 500);
  const joined = new Uint8Array(prefix.length + 1 + name.length);
  joined.set(prefix);
  joined[prefix.length] = 0x2f;
  joined.set(name, prefix.length + 1);
  return joined;
}

/** Copies a string that ends at a NUL or at the end of its field. */
function field(block: Uint8Array, from: number, to: number): Uint8Array {
  const nul = block.indexOf(0, from);
  return block.slice(from, nul === -1 || nul > to ? to : nul);
}

function hasText(block: Uint8Array, at: number, text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    if (block[at + i] !== text.charCodeAt(i)) return false;
  }
  return true;
}
