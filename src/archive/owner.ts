/** Whom unpacked files belong to, and which special bits they may therefore keep. */
import type { Entry } from "./entry.ts";

const S_ISUID = 0o4000;
const S_ISGID = 0o2000;

/** Who owns what is unpacked: as the archive says where the id is mapped, or the one who unpacks. */
export interface OwnerPolicy {
  readonly owners: "keep" | "root";
  /** Whether an id can be held here; what cannot becomes 0. */
  readonly isMapped: (id: number) => boolean;
  /** Whether setuid and setgid bits are kept where the owner is. */
  readonly setuid: "keep" | "drop";
}

/** An entry's owner as it can be held, and its mode without the bits that would lie about it. */
export interface Ownership {
  readonly uid: number;
  readonly gid: number;
  readonly mode: number;
  /** Whether both ids are the archive's. */
  readonly isHeld: boolean;
}

/** Decides an entry's owner and mode; root's own setuid bits are kept only if root owns the file. */
export function decideOwner(
  entry: Pick<Entry, "uid" | "gid" | "mode">,
  policy: OwnerPolicy,
): Ownership {
  const canHold = (id: number) => policy.owners === "keep" ? policy.isMapped(id) : id === 0;
  const holdsUid = canHold(entry.uid);
  const holdsGid = canHold(entry.gid);
  const lost = policy.setuid === "drop"
    ? S_ISUID | S_ISGID
    : (holdsUid ? 0 : S_ISUID) | (holdsGid ? 0 : S_ISGID);
  return {
    uid: holdsUid ? entry.uid : 0,
    gid: holdsGid ? entry.gid : 0,
    mode: entry.mode & ~lost,
    isHeld: holdsUid && holdsGid,
  };
}

/** Parses /proc/PID/uid_map: says which ids are mapped in that user namespace. */
export function parseIdMap(text: string): (id: number) => boolean {
  const ranges = text.trim().split("\n").map((line) => {
    const [first = 0, , count = 0] = line.trim().split(/\s+/).map(Number);
    return { first, end: first + count };
  });
  return (id) => ranges.some(({ first, end }) => id >= first && id < end);
}
