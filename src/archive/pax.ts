/** Extended headers: records that replace fields of the headers after them (pax(1)). */
import { toByteText } from "./byte_text.ts";
import type { Time } from "./entry.ts";
import type { Place } from "./place.ts";

/** A record: a keyword as text with one character a byte, and a value. */
export type PaxRecord = readonly [key: string, value: Uint8Array<ArrayBuffer>];

const utf8 = new TextDecoder();

/**
 * Parses the records of an extended header: `LENGTH KEYWORD=VALUE\n` each.
 *
 * @throws {ArchiveError} If a record is malformed.
 */
export function parsePax(bytes: Uint8Array, place: Place): PaxRecord[] {
  const records: PaxRecord[] = [];
  for (let at = 0; at < bytes.length;) {
    const space = bytes.indexOf(0x20, at);
    const length = space === -1 || space - at > 10 ? NaN : toNatural(bytes.subarray(at, space));
    const end = at + length;
    const equals = bytes.indexOf(0x3d, space + 1);
    const isWhole = end <= bytes.length && bytes[end - 1] === 0x0a &&
      equals > space + 1 && equals < end - 1;
    if (!isWhole) throw place.refuse("has a malformed extended header");
    records.push([toByteText(bytes.subarray(space + 1, equals)), bytes.slice(equals + 1, end - 1)]);
    at = end;
  }
  return records;
}

/**
 * Parses a record that holds a whole number not below 0.
 *
 * @throws {ArchiveError} If it holds anything else.
 */
export function parsePaxNumber(value: Uint8Array, what: string, place: Place): number {
  const number = toNatural(value);
  if (!Number.isSafeInteger(number)) throw place.refuse(`has a malformed ${what}`);
  return number;
}

/**
 * Parses a record that holds seconds since 1970, with a fraction, perhaps before 1970.
 *
 * @throws {ArchiveError} If it holds anything else.
 */
export function parsePaxTime(value: Uint8Array, place: Place): Time {
  const match = /^(-?)(\d{1,15})(?:\.(\d*))?$/.exec(utf8.decode(value));
  if (match === null) throw place.refuse("has a malformed time");
  const seconds = Number(match[2]);
  const nanoseconds = Number((match[3] ?? "").slice(0, 9).padEnd(9, "0"));
  if (match[1] === "") return { seconds, nanoseconds };
  return nanoseconds === 0
    ? { seconds: -seconds, nanoseconds }
    : { seconds: -seconds - 1, nanoseconds: 1_000_000_000 - nanoseconds };
}

function toNatural(digits: Uint8Array): number {
  const text = utf8.decode(digits);
  return /^\d+$/.test(text) ? Number(text) : NaN;
}
