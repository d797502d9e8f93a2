/** Entries in, their headers out: ustar where it can hold them, else pax records before it (pax(1)). */
import { concat } from "@std/bytes/concat";
import { BLOCK_BYTES, paddingOf } from "./block.ts";
import { fromByteText } from "./byte_text.ts";
import type { Entry, Extent, PackedEntry, Time } from "./entry.ts";

const NAME_BYTES = 100;
const PREFIX_BYTES = 155;
/** The largest numbers of ustar's fields: 7 and 11 octal digits. */
const MOST_ID = 0o7777777;
const MOST_SIZE = 0o77777777777;

const TYPES: Readonly<Record<PackedEntry["kind"], string>> = {
  file: "0",
  link: "1",
  symlink: "2",
  whiteout: "3",
  directory: "5",
  fifo: "6",
};

type PaxField = readonly [key: string, value: Uint8Array];

const SLASH = 0x2f;
const encoder = new TextEncoder();
const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Gives all that stands before an entry's bytes; for a file with holes that includes their map. */
export function encodeEntry(entry: PackedEntry): Uint8Array<ArrayBuffer> {
  const { kind, extents, target, uid, gid, mtime, xattrs } = entry;
  const map = extents === null ? new Uint8Array(0) : encodeMap(extents, entry.size);
  const size = storedBytes(entry) + map.length;
  const path = kind === "directory" ? concat([entry.name, Uint8Array.of(SLASH)]) : entry.name;
  const names = splitName(extents === null ? path : sparseName(path));

  const records: PaxField[] = [];
  const number = (key: string, value: number) => records.push([key, encoder.encode(`${value}`)]);
  if (names === null && extents === null) records.push(["path", path]);
  if (target.length > NAME_BYTES) records.push(["linkpath", target]);
  if (uid > MOST_ID) number("uid", uid);
  if (gid > MOST_ID) number("gid", gid);
  if (size > MOST_SIZE) number("size", size);
  if (!isWhole(mtime)) records.push(["mtime", encoder.encode(formatTime(mtime))]);
  if (extents !== null) {
    number("GNU.sparse.major", 1);
    number("GNU.sparse.minor", 0);
    records.push(["GNU.sparse.name", path]);
    number("GNU.sparse.realsize", entry.size);
  }
  for (const { name, value } of xattrs) {
    // As GNU tar: a record's keyword ends at the first "=".
    const escaped = name.replaceAll("%", "%25").replaceAll("=", "%3D");
    records.push([`SCHILY.xattr.${escaped}`, value]);
  }

  const block = encodeBlock({
    type: TYPES[kind],
    ...names ?? { prefix: new Uint8Array(0), name: shorten(path) },
    target,
    mode: entry.mode & 0o7777,
    uid: uid > MOST_ID ? 0 : uid,
    gid: gid > MOST_ID ? 0 : gid,
    size: size > MOST_SIZE ? 0 : size,
    mtime: isWhole(mtime) ? mtime.seconds : Math.min(Math.max(mtime.seconds, 0), MOST_SIZE),
  });
  return records.length === 0
    ? concat([block, map])
    : concat([...encodePax(records, path), block, map]);
}

/** Gives how many bytes of an entry's content are stored. */
export function storedBytes({ size, extents }: Entry): number {
  return extents === null ? size : extents.reduce((total, { length }) => total + length, 0);
}

interface Block {
  readonly type: string;
  readonly prefix: Uint8Array;
  readonly name: Uint8Array;
  readonly target: Uint8Array;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly size: number;
  readonly mtime: number;
}

function encodeBlock(fields: Block): Uint8Array<ArrayBuffer> {
  const block = new Uint8Array(BLOCK_BYTES);
  const octal = (at: number, digits: number, value: number) =>
    encoder.encodeInto(value.toString(8).padStart(digits, "0"), block.subarray(at));
  block.set(fields.name);
  octal(100, 7, fields.mode);
  octal(108, 7, fields.uid);
  octal(116, 7, fields.gid);
  octal(124, 11, fields.size);
  octal(136, 11, fields.mtime);
  encoder.encodeInto(`        ${fields.type}`, block.subarray(148));
  block.set(fields.target.subarray(0, NAME_BYTES), 157);
  encoder.encodeInto("ustar\x0000", block.subarray(257));
  octal(329, 7, 0);
  octal(337, 7, 0);
  block.set(fields.prefix, 345);
  octal(148, 6, block.reduce((sum, byte) => sum + byte, 0));
  block[154] = 0;
  return block;
}

function encodePax(records: readonly PaxField[], path: Uint8Array): Uint8Array[] {
  const isText = records.every(([key, value]) => !/path$|name$/.test(key) || isUtf8(value));
  const all: PaxField[] = isText
    ? [...records]
    : [["hdrcharset", encoder.encode("BINARY")], ...records];
  const body = concat(all.map(encodeRecord));
  const name = concat([encoder.encode("PaxHeaders/"), shorten(path).subarray(0, 80)]);
  const none = new Uint8Array(0);
  const size = body.length;
  const rest = { prefix: none, name, target: none, mode: 0o644, uid: 0, gid: 0, size, mtime: 0 };
  return [encodeBlock({ type: "x", ...rest }), body, new Uint8Array(paddingOf(size))];
}

/** A record begins with its own length, the digits of that included. */
function encodeRecord([key, value]: PaxField): Uint8Array {
  const rest = concat([fromByteText(` ${key}=`), value, encoder.encode("\n")]);
  let length = rest.length + 1;
  while (String(length).length + rest.length > length) length++;
  return concat([encoder.encode(String(length)), rest]);
}

/** The map of a sparse file of GNU's format 1.0: decimal lines, up to a block's end. */
function encodeMap(extents: readonly Extent[], size: number): Uint8Array {
  const last = extents.at(-1);
  const isClosed = last !== undefined && last.offset + last.length === size;
  const all = isClosed ? extents : [...extents, { offset: size, length: 0 }];
  const lines = all.map(({ offset, length }) => `${offset}\n${length}\n`).join("");
  const text = encoder.encode(`${all.length}\n${lines}`);
  return concat([text, new Uint8Array(paddingOf(text.length))]);
}

/** Splits a path at a slash so that ustar can hold it; null if it cannot. */
function splitName(path: Uint8Array): Pick<Block, "prefix" | "name"> | null {
  if (path.length <= NAME_BYTES) return { prefix: new Uint8Array(0), name: path };
  const from = path.length - 1 - NAME_BYTES;
  const slash = path.indexOf(SLASH, Math.max(from, 1));
  if (slash === -1 || slash > PREFIX_BYTES || slash === path.length - 1) return null;
  return { prefix: path.subarray(0, slash), name: path.subarray(slash + 1) };
}

/** What a reader that knows no sparse files sees, as GNU tar names it. */
function sparseName(path: Uint8Array): Uint8Array {
  const leaf = path.lastIndexOf(SLASH) + 1;
  return concat([
    path.subarray(0, leaf),
    encoder.encode("GNUSparseFile.0/"),
    path.subarray(leaf),
  ]);
}

/** A name for a header whose true name stands in a record: the path's last part, cut. */
function shorten(path: Uint8Array): Uint8Array {
  const end = path.at(-1) === SLASH ? path.length - 1 : path.length;
  const leaf = path.subarray(0, end).lastIndexOf(SLASH) + 1;
  return path.subarray(leaf, Math.min(end, leaf + NAME_BYTES));
}

function isWhole({ seconds, nanoseconds }: Time): boolean {
  return nanoseconds === 0 && seconds >= 0 && seconds <= MOST_SIZE;
}

function formatTime({ seconds, nanoseconds }: Time): string {
  const isBefore = seconds < 0 && nanoseconds > 0; // -1.25 is 2 seconds before, 0.75 after
  const whole = isBefore ? seconds + 1 : seconds;
  const part = isBefore ? 1_000_000_000 - nanoseconds : nanoseconds;
  const sign = isBefore && whole === 0 ? "-" : "";
  const digits = part === 0 ? "" : `.${String(part).padStart(9, "0").replace(/0+$/, "")}`;
  return `${sign}${whole}${digits}`;
}

function isUtf8(bytes: Uint8Array): boolean {
  try {
    utf8.decode(bytes);
    return true;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return false;
  }
}
