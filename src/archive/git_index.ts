/**
 * The index of a git repository: which files it tracks, and by what it knows, without reading them, that
 * they have not changed. See gitformat-index(5).
 */
import { hash } from "node:crypto";
import type { FileStatus } from "../../ffi/mod.ts";
import { toByteText } from "./byte_text.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** A tracked file or symbolic link. */
export interface IndexEntry {
  /** Beneath the work tree, one character a byte. */
  readonly path: string;
  readonly kind: "file" | "executable" | "symlink";
  /** The digest of what was added. */
  readonly oid: Bytes;
  /** When the file had changed last as it was known, in seconds since 1970. */
  readonly mtimeSeconds: number;
  /** Its bytes as they were known; 0 if git was not sure of it. */
  readonly size: number;
  /** Where it stands in the bytes. */
  readonly offset: number;
}

/** An index that can be brought up to date in place. */
export interface GitIndex {
  readonly bytes: Bytes;
  readonly algorithm: Algorithm;
  /** Those of which git compares what it remembers. */
  readonly entries: readonly IndexEntry[];
}

/** How objects are named. */
export type Algorithm = "sha1" | "sha256";

/** A year of no repository: times are 32 bits without a sign. */
export const MAX_SECONDS = 0xffffffff;

const HEADER_BYTES = 12;

const OID_BYTES = { sha1: 20, sha256: 32 } as const;

/** Where an entry has what `stat(2)` said, each 32 bits. */
const STAT = {
  ctime: 0,
  ctimeNs: 4,
  mtime: 8,
  mtimeNs: 12,
  inode: 20,
  mode: 24,
  uid: 28,
  gid: 32,
  size: 36,
  oid: 40,
} as const;

const FLAG = { assumeValid: 0x8000, extended: 0x4000, stage: 0x3000 } as const;
const EXTENDED_FLAG = { skipWorktree: 0x4000, intentToAdd: 0x2000 } as const;

const KINDS: Readonly<Record<number, IndexEntry["kind"]>> = {
  0o100644: "file",
  0o100755: "executable",
  0o120000: "symlink",
};

/** Reads an index; null if it is damaged, or refers to other files, or is of a version not known. */
export function parseGitIndex(bytes: Bytes): GitIndex | null {
  const algorithm = (["sha1", "sha256"] as const).find((it) => isSealed(bytes, it));
  if (algorithm === undefined || toByteText(bytes.subarray(0, 4)) !== "DIRC") return null;
  const view = viewOf(bytes);
  const version = view.getUint32(4);
  if (version < 2 || version > 4) return null;
  const end = bytes.length - OID_BYTES[algorithm];
  const entries: IndexEntry[] = [];
  let offset = HEADER_BYTES;
  let path = "";
  for (let left = view.getUint32(8); left > 0; left--) {
    const flagsAt = offset + STAT.oid + OID_BYTES[algorithm];
    if (flagsAt + 4 > end) return null;
    const flags = view.getUint16(flagsAt);
    const isExtended = (flags & FLAG.extended) !== 0;
    const extended = isExtended ? view.getUint16(flagsAt + 2) : 0;
    let nameAt = flagsAt + (isExtended ? 4 : 2);
    let stem = "";
    if (version === 4) {
      const cut = readVarint(bytes, nameAt);
      if (cut.value > path.length) return null;
      stem = path.slice(0, path.length - cut.value);
      nameAt = cut.next;
    }
    const nameEnd = bytes.indexOf(0, nameAt);
    if (nameEnd < 0 || nameEnd >= end) return null;
    path = stem + toByteText(bytes.subarray(nameAt, nameEnd));
    const kind = KINDS[view.getUint32(offset + STAT.mode)];
    const isCompared = (flags & (FLAG.assumeValid | FLAG.stage)) === 0 &&
      (extended & (EXTENDED_FLAG.skipWorktree | EXTENDED_FLAG.intentToAdd)) === 0;
    if (kind !== undefined && isCompared) {
      const oid = bytes.subarray(offset + STAT.oid, flagsAt);
      const mtimeSeconds = view.getUint32(offset + STAT.mtime);
      const size = view.getUint32(offset + STAT.size);
      entries.push({ path, kind, oid, mtimeSeconds, size, offset });
    }
    offset = version === 4 ? nameEnd + 1 : offset + ((nameEnd - offset + 8) & ~7);
  }
  return hasForeignParts(bytes, offset, end) ? null : { bytes, algorithm, entries };
}

/** Remembers what a file is now. */
export function remember({ bytes }: GitIndex, { offset }: IndexEntry, status: FileStatus): void {
  const view = viewOf(bytes);
  const put = (field: number, value: number) => view.setUint32(offset + field, value);
  const putTime = (field: number, ns: bigint) => {
    put(field, Number(ns / 1_000_000_000n));
    put(field + 4, Number(ns % 1_000_000_000n));
  };
  putTime(STAT.ctime, status.ctimeNs);
  putTime(STAT.mtime, status.mtimeNs);
  put(STAT.inode, Number(status.inode & 0xffffffffn));
  put(STAT.uid, status.uid);
  put(STAT.gid, status.gid);
  put(STAT.size, status.size);
}

/** Has git read the file, whatever it remembers of it: it does so itself with those it is not sure of. */
export function distrust({ bytes }: GitIndex, { offset }: IndexEntry): void {
  viewOf(bytes).setUint32(offset + STAT.size, 0);
}

/** Makes the bytes whole again after a change. */
export function seal({ bytes, algorithm }: GitIndex): void {
  const end = bytes.length - OID_BYTES[algorithm];
  bytes.set(hash(algorithm, bytes.subarray(0, end), "buffer"), end);
}

function isSealed(bytes: Bytes, algorithm: Algorithm): boolean {
  const end = bytes.length - OID_BYTES[algorithm];
  if (end < HEADER_BYTES) return false;
  const seal = hash(algorithm, bytes.subarray(0, end), "buffer");
  return seal.equals(bytes.subarray(end));
}

/** Parts with a small letter must be understood: their entries are elsewhere, or stand for directories. */
function hasForeignParts(bytes: Bytes, from: number, end: number): boolean {
  let at = from;
  while (at + 8 <= end) {
    if (bytes[at]! >= 0x61) return true;
    at += 8 + viewOf(bytes).getUint32(at + 4);
  }
  return at !== end;
}

/** As git writes offsets in packs. */
function readVarint(bytes: Bytes, from: number): { readonly value: number; readonly next: number } {
  let byte = bytes[from]!;
  let value = byte & 127;
  let next = from + 1;
  while ((byte & 128) !== 0 && next < bytes.length) {
    byte = bytes[next++]!;
    value = (value + 1) * 128 + (byte & 127);
  }
  return { value, next };
}

function viewOf(bytes: Bytes): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
