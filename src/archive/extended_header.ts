/** What stands before a header and completes it: pax records and GNU's long names. */
import type { Entry } from "./entry.ts";
import type { Header } from "./header.ts";
import { parsePax, parsePaxNumber, parsePaxTime } from "./pax.ts";
import type { Place } from "./place.ts";
import { refusalOf, toKind } from "./type.ts";

const XATTR = /^(?:SCHILY|LIBARCHIVE)\.xattr\./;
// Such an attribute would hide what lies in the layers below.
const OVERLAY_XATTR = /^(?:SCHILY|LIBARCHIVE)\.xattr\.(?:user|trusted)\.overlay\./;

/** The extended headers in force at one point of the stream. */
export class ExtendedHeaders {
  readonly #place: Place;
  readonly #global = new Map<string, Uint8Array>();
  #local: Map<string, Uint8Array> | null = null;

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
  add(type: string, body: Uint8Array): void {
    if (type === "g") {
      for (const [key, value] of parsePax(body, this.#place)) this.#global.set(key, value);
      return;
    }
    this.#local ??= new Map();
    if (type === "L") this.#local.set("path", untilNul(body));
    else if (type === "K") this.#local.set("linkpath", untilNul(body));
    else for (const [key, value] of parsePax(body, this.#place)) this.#local.set(key, value);
  }

  /**
   * Joins a header with what came before it.
   *
   * @throws {ArchiveError} If a record is malformed, or the entry of a kind that is not supported.
   */
  apply(header: Header): Entry {
    const place = this.#place;
    const name = this.#get("path") ?? header.name;
    place.entry = name;
    const kind = toKind(header.type, name);
    if (kind === null) throw place.refuse(refusalOf(header.type));
    const mtime = this.#get("mtime");
    return {
      kind,
      name,
      target: this.#get("linkpath") ?? header.target,
      mode: header.mode,
      uid: this.#number("uid", header.uid),
      gid: this.#number("gid", header.gid),
      size: kind === "file" ? this.sizeOf(header) : 0,
      mtime: mtime === undefined
        ? { seconds: header.mtime, nanoseconds: 0 }
        : parsePaxTime(mtime, place),
      xattrs: this.#countXattrs(),
    };
  }

  /** Gives how many bytes follow a header. @throws {ArchiveError} If the record is malformed. */
  sizeOf(header: Header): number {
    return this.#number("size", header.size);
  }

  /** Forgets what belonged to the entry before. */
  forget(): void {
    this.#local = null;
  }

  /** An empty value takes a record of a global header back. */
  #get(key: string): Uint8Array | undefined {
    const value = this.#local?.get(key) ?? this.#global.get(key);
    return value?.length === 0 ? undefined : value;
  }

  #number(key: string, fallback: number): number {
    const value = this.#get(key);
    return value === undefined ? fallback : parsePaxNumber(value, key, this.#place);
  }

  #countXattrs(): number {
    let count = 0;
    if (this.#local === null && this.#global.size === 0) return count;
    for (const key of [...this.#global.keys(), ...this.#local?.keys() ?? []]) {
      if (key.startsWith("GNU.sparse.")) {
        throw this.#place.refuse("is a pax sparse file, which is not supported");
      }
      if (OVERLAY_XATTR.test(key)) {
        throw this.#place.refuse("carries an extended attribute of overlayfs");
      }
      if (XATTR.test(key)) count++;
    }
    return count;
  }
}

function untilNul(body: Uint8Array): Uint8Array {
  const nul = body.indexOf(0);
  return nul === -1 ? body : body.subarray(0, nul);
}
