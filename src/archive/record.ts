/** Tells what is unpacked, entry by entry with its digest, so that it can be compared later. */
import { createHash, type Hash, hash } from "node:crypto";
import { toByteText } from "./byte_text.ts";
import type { Entry, EntryKind, EntrySink } from "./entry.ts";

import { decideOwner } from "./owner.ts";
import { parsePath } from "./path.ts";
import type { Place } from "./place.ts";
import { parseMark } from "./whiteout.ts";
import type { WritePolicy } from "./write.ts";

/** One thing as it was unpacked; of two with the same path the later one counts. */
export interface EntryRecord {
  /** `mark` is a whiteout of an OCI layer, which hides only what lies below. */
  readonly kind: EntryKind | "mark";
  /** Beneath the root, each character one byte; "" is the root itself. */
  readonly path: string;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly size: number;
  /** In nanoseconds since 1970. */
  readonly mtimeNs: bigint;
  /** A file's SHA-256, but of one with very large holes; where a link of either kind leads. */
  readonly content: string;
}

/** Larger holes are not worth the time to hash them: nothing else could be told from them. */
const MAX_HASHED_HOLES = 2 ** 30;

const EMPTY_SHA256 = hash("sha256", "");

const ZEROS = new Uint8Array(1 << 20);

/** Hands entries on to another sink, and tells of each that has ended. */
export class RecordingSink implements EntrySink {
  readonly #next: EntrySink;
  readonly #place: Place;
  readonly #policy: WritePolicy;
  readonly #tell: (record: EntryRecord) => void;
  #record: EntryRecord | null = null;
  /** Of a file that comes in several pieces. */
  #hash: Hash | null = null;
  #holeBytes = 0;

  constructor(
    next: EntrySink,
    options: {
      readonly place: Place;
      readonly policy: WritePolicy;
      readonly tell: (record: EntryRecord) => void;
    },
  ) {
    this.#next = next;
    this.#place = options.place;
    this.#policy = options.policy;
    this.#tell = options.tell;
  }

  /** Takes an entry; nothing is told of it before it has ended. */
  begin(entry: Entry): void {
    this.#next.begin(entry);
    this.#record = this.#toRecord(entry); // its names are views of bytes that are soon gone
    this.#hash = null;
    this.#holeBytes = 0;
  }

  /** Takes some of its bytes. */
  data(bytes: Uint8Array<ArrayBuffer>): void {
    this.#next.data(bytes);
    const record = this.#record;
    if (record?.kind !== "file" || this.#holeBytes > MAX_HASHED_HOLES) return;
    if (bytes.length === record.size) {
      this.#record = { ...record, content: hash("sha256", bytes) }; // most files: nothing is kept
    } else {
      this.#hash ??= createHash("sha256");
      this.#hash.update(bytes);
    }
  }

  /** Takes a hole. */
  hole(length: number): void {
    this.#next.hole(length);
    this.#holeBytes += length;
    if (this.#holeBytes > MAX_HASHED_HOLES) this.#hash = null;
    else this.#hash ??= createHash("sha256");
    for (let left = length; left > 0 && this.#hash !== null; left -= ZEROS.length) {
      this.#hash.update(ZEROS.subarray(0, left));
    }
  }

  /** Tells of the entry. */
  end(): void {
    this.#next.end();
    const record = this.#record;
    if (record === null) return;
    this.#record = null;
    this.#tell(this.#hash === null ? record : { ...record, content: this.#hash.digest("hex") });
  }

  #toRecord(entry: Entry): EntryRecord | null {
    const path = this.#parse(entry.name);
    const mark = this.#policy.whiteouts === "oci" ? parseMark(path, entry.kind, this.#place) : null;
    if (mark?.kind === "opaque" || entry.kind === "device") return null;
    const { uid, gid, mode } = decideOwner(entry, this.#policy);
    return {
      kind: mark === null ? entry.kind : "mark",
      path: mark?.path ?? path,
      mode: mode & 0o7777,
      uid,
      gid,
      size: entry.size,
      mtimeNs: BigInt(entry.mtime.seconds) * 1_000_000_000n + BigInt(entry.mtime.nanoseconds),
      content: this.#contentOf(entry),
    };
  }

  #contentOf({ kind, size, target }: Entry): string {
    if (kind === "file") return size === 0 ? EMPTY_SHA256 : "";
    return kind === "link" ? this.#parse(target) : toByteText(target);
  }

  /** The sink has refused every name that cannot be parsed. */
  #parse(name: Uint8Array): string {
    return parsePath(name, { place: this.#place, maxDepth: Infinity });
  }
}
