/** Gives what was unpacked its owner, attributes, mode and times. */
import {
  fchmod,
  fchmodAt,
  fchown,
  isErrno,
  lchownAt,
  setTime,
  setTimeAt,
  setXattr,
} from "../../ffi/mod.ts";
import { toCString } from "./byte_text.ts";
import { countLoss, type Counts } from "./count.ts";
import type { Entry, Xattr } from "./entry.ts";
import { decideOwner, type OwnerPolicy } from "./owner.ts";
import { type Place, showName } from "./place.ts";
import { isKept } from "./xattr.ts";

/** What an entry says of a file beside its content. */
export type Description = Pick<Entry, "kind" | "mode" | "uid" | "gid" | "mtime" | "xattrs">;

/** How something is described once it is made. */
export interface Decided {
  /** Whom it is given to; null if it is his who makes it. */
  readonly owner: { readonly uid: number; readonly gid: number } | null;
  readonly mode: number;
  readonly mtime: Entry["mtime"];
}

/** Describes files; the order of the calls is the one in which none undoes another. */
export class Describer {
  readonly #place: Place;
  readonly #policy: OwnerPolicy;
  readonly #counts: Counts;
  readonly #isRoots: boolean;

  /** @param isRoots Whether what is made belongs to root at once, user and group. */
  constructor(place: Place, policy: OwnerPolicy, counts: Counts, isRoots: boolean) {
    this.#place = place;
    this.#policy = policy;
    this.#counts = counts;
    this.#isRoots = isRoots;
  }

  /** Describes an open file or directory. */
  describeOpen(fd: number, description: Description): void {
    describeOpen(fd, this.decide(description), (fd) => {
      for (const xattr of description.xattrs) this.#setXattr(fd, xattr);
    });
  }

  /** Decides what a file gets, and counts what it loses. */
  decide(description: Description): Decided {
    const { uid, gid, mode, isHeld } = decideOwner(description, this.#policy);
    if (!isHeld) {
      const { uid, gid } = description;
      countLoss(this.#counts, "ownersLost", () => `${this.#name()}: owner ${uid}:${gid}`);
    }
    const owner = this.#mustGive(description, uid, gid) ? { uid, gid } : null;
    return { owner, mode, mtime: description.mtime };
  }

  /** Describes what cannot be opened; it was made just now, by us. */
  describeAt(parent: number, name: string, description: Description): void {
    const { owner, mode, mtime: { seconds, nanoseconds } } = this.decide(description);
    const path = toCString(name);
    if (owner !== null) lchownAt(parent, path, owner.uid, owner.gid);
    for (const { name } of description.xattrs) this.#loseXattr(name);
    if (description.kind === "fifo") fchmodAt(parent, path, mode);
    setTimeAt(parent, path, BigInt(seconds) * 1_000_000_000n + BigInt(nanoseconds));
  }

  /** A directory may have been there before. */
  #mustGive({ kind }: Description, uid: number, gid: number): boolean {
    if (this.#policy.owners === "root") return false;
    return kind === "directory" || uid !== 0 || gid !== 0 || !this.#isRoots;
  }

  #setXattr(fd: number, { name, value }: Xattr): void {
    if (!isKept(name)) return this.#loseXattr(name);
    try {
      setXattr(fd, toCString(name), value);
    } catch (error) {
      // Capabilities need rights that we may not have; file systems differ in what they hold.
      const known = ["EPERM", "EOPNOTSUPP", "EINVAL", "ENOSPC", "E2BIG", "ERANGE"] as const;
      if (!isErrno(error, ...known)) throw error;
      this.#loseXattr(name);
    }
  }

  #loseXattr(name: string): void {
    countLoss(this.#counts, "xattrsLost", () => `${this.#name()}: attribute ${name}`);
  }

  #name(): string {
    return showName(this.#place.entry ?? new Uint8Array(0));
  }
}

/**
 * Describes an open file or directory: a new owner clears capabilities and special bits.
 *
 * @param giveMore What comes before the mode, which may forbid it to one who is not root.
 */
export function describeOpen(
  fd: number,
  { owner, mode, mtime }: Decided,
  giveMore: (fd: number) => void = () => {},
): void {
  if (owner !== null) fchown(fd, owner.uid, owner.gid);
  giveMore(fd);
  fchmod(fd, mode);
  setTime(fd, mtime.seconds, mtime.nanoseconds);
}
