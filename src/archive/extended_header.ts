/** What stands before a header and completes it: pax records and GNU's long names. */
import type { Entry } from "./entry.ts";
import type { ExtendedBody } from "./extended_body.ts";
import type { Header } from "./header.ts";
import { parsePax, parsePaxNumber, parsePaxTime } from "./pax.ts";
import type { Place } from "./place.ts";
import { LineMap, type SparseForm, wholeMap } from "./sparse.ts";
import { refusalOf, toKind } from "./type.ts";
import { parseXattrs } from "./xattr_record.ts";

const utf8 = new TextDecoder();

/** The extended headers in force at one point of the stream. */
export class ExtendedHeaders {
  readonly #place: Place;
  readonly #global = new Map<string, Uint8Array<ArrayBuffer>>();
  #local: Map<string, Uint8Array<ArrayBuffer>> | null = null;
  /** The map of a sparse file of format 0.0, whose records repeat. */
  #extents: string[] = [];

  constructor(place: Place) {
    this.#place = place;
  }

  /** Says whether a type is one of an extended header. */
  static has(type: string): boolean {
    return "xgXLK".includes(type);
  }

  /** Whether one waits for the entry that it belongs to. */
  get isPending(): boolean {
    return this.#local !== null;
  }

  /**
   * Takes one extended header.
   *
   * @throws {ArchiveError} If it is malformed.
   */
  add({ type, bytes: body }: ExtendedBody): void {
    if (type === "g") {
      for (const [key, value] of parsePax(body, this.#place)) this.#global.set(key, value);
      return;
    }
    this.#local ??= new Map();
    if (type === "L") this.#local.set("path", untilNul(body));
    else if (type === "K") this.#local.set("linkpath", untilNul(body));
    else this.#addRecords(this.#local, body);
  }

  /**
   * Joins a header with what came before it.
   *
   * @throws {ArchiveError} If a record is malformed, or the entry of a kind that is not supported.
   */
  apply(header: Header): Entry {
    const place = this.#place;
    const name = this.#get("GNU.sparse.name") ?? this.#get("path") ?? header.name;
    place.entry = name;
    const kind = toKind(header, name);
    if (kind === null) throw place.refuse(refusalOf(header.type));
    const mtime = this.#get("mtime");
    return {
      kind,
      name,
      target: this.#get("linkpath") ?? header.target,
      mode: header.mode,
      uid: this.#number("uid", header.uid),
      gid: this.#number("gid", header.gid),
      size: kind === "file" ? this.storedSize(header) : 0,
      extents: null,
      mtime: mtime === undefined
        ? { seconds: header.mtime, nanoseconds: 0 }
        : parsePaxTime(mtime, place),
      xattrs: this.isPending || this.#global.size > 0
        ? parseXattrs([...this.#global, ...this.#local ?? []], place)
        : [],
    };
  }

  /** Gives how many bytes follow a header. @throws {ArchiveError} If the record is malformed. */
  storedSize(header: Header): number {
    return this.#number("size", header.size);
  }

  /**
   * Gives what the records say of a sparse file; null if they say nothing.
   *
   * @throws {ArchiveError} If a record is malformed, or the format one we do not know.
   */
  sparseForm(): SparseForm | null {
    if (this.#local === null) return null;
    const place = this.#place;
    const [major, map] = [this.#text("GNU.sparse.major"), this.#text("GNU.sparse.map")];
    if (major === undefined && map === undefined && this.#extents.length === 0) return null;
    const size = this.#number("GNU.sparse.realsize", this.#number("GNU.sparse.size", -1));
    if (size < 0) throw place.refuse("is a sparse file of no size");
    if (major === "1" && this.#text("GNU.sparse.minor") === "0") {
      return { size, map: new LineMap(place), goesOn: true };
    }
    if (major !== undefined && major !== "0") {
      throw place.refuse("is a sparse file in a format that is not known");
    }
    const numbers = map === undefined ? this.#extents : map.split(",");
    return { size, map: wholeMap(numbers, place), goesOn: false };
  }

  /** Forgets what belonged to the entry before. */
  forget(): void {
    this.#local = null;
    this.#extents = [];
  }

  #addRecords(local: Map<string, Uint8Array<ArrayBuffer>>, body: Uint8Array): void {
    for (const [key, value] of parsePax(body, this.#place)) {
      local.set(key, value);
      if (key === "GNU.sparse.offset" || key === "GNU.sparse.numbytes") {
        this.#extents.push(utf8.decode(value));
      }
    }
  }

  /** An empty value takes a record of a global header back. */
  #get(key: string): Uint8Array | undefined {
    const value = this.#local?.get(key) ?? this.#global.get(key);
    return value?.length === 0 ? undefined : value;
  }

  #text(key: string): string | undefined {
    const value = this.#get(key);
    return value === undefined ? undefined : utf8.decode(value);
  }

  #number(key: string, fallback: number): number {
    const value = this.#get(key);
    return value === undefined ? fallback : parsePaxNumber(value, key, this.#place);
  }
}

function untilNul(body: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const nul = body.indexOf(0);
  return nul === -1 ? body : body.subarray(0, nul);
}
