/** Who we are on the host, and which of its ids a sandbox's ids stand for (user_namespaces(7)). */

/** A run of ids: `inside..inside+count` stand for `outside..outside+count` of the parent. */
export interface IdExtent {
  readonly inside: number;
  readonly outside: number;
  readonly count: number;
}

/** How the holder's user namespace maps ids to the host's. */
export interface Identity {
  /**
   * How the map comes about: by root, by newuidmap, of the caller's own id alone; or there is none,
   * and root inside is root outside.
   */
  readonly kind: "root" | "subordinate" | "single" | "none";
  /** User ids. */
  readonly uids: readonly IdExtent[];
  /** Group ids. */
  readonly gids: readonly IdExtent[];
}

/** What the choice depends on. */
export interface IdentityFacts {
  readonly uid: number;
  readonly gid: number;
  /** The name of the user, if he has one. */
  readonly userName: string | null;
  /** The texts of /etc/subuid and /etc/subgid, empty where missing. */
  readonly subuid: string;
  readonly subgid: string;
  /** The text of /proc/self/uid_map. */
  readonly uidMap: string;
  /** Whether newuidmap and newgidmap are installed. */
  readonly hasNewuidmap: boolean;
}

/** How many ids a sandbox started by root has. */
const ROOT_COUNT = 65536;

/** Where they lie on the host: above what distributions give to users and containers. */
const ROOT_BASE = 2_000_000_000;

/** The identity of root where user namespaces are not to be used. */
export const NO_IDENTITY: Identity = {
  kind: "none",
  uids: [{ inside: 0, outside: 0, count: 2 ** 32 - 1 }],
  gids: [{ inside: 0, outside: 0, count: 2 ** 32 - 1 }],
};

/** Whether id 0 exists in a sandbox of such a user: a single id may be shown as another. */
export function mapsRoot(
  { kind }: Pick<Identity, "kind">,
  { uid, gid }: { readonly uid: number; readonly gid: number },
): boolean {
  return kind !== "single" || (uid === 0 && gid === 0);
}

/** What plans ask of an identity. */
export interface Standing {
  /** Whether sandboxes have user namespaces: the holder's, and one each below it. */
  readonly hasUserNamespace: boolean;
  /** Whether groups can be set in them. */
  readonly canSetGroups: boolean;
}

/** Gives what plans ask of an identity. */
export function standingOf({ kind }: Pick<Identity, "kind">): Standing {
  return { hasUserNamespace: kind !== "none", canSetGroups: kind !== "single" };
}

/**
 * Chooses the identity: for root an unprivileged range, else subordinate ids, else the own id. Root
 * of a user namespace of one id is a user like others.
 */
export function chooseIdentity(facts: IdentityFacts): Identity {
  const { uid, gid } = facts;
  const own = parseMap(facts.uidMap);
  const hasOneId = own.length === 1 && own[0]!.count === 1;
  if (uid === 0 && !hasOneId) {
    const range = [rootRange(own)];
    return { kind: "root", uids: range, gids: range };
  }
  const subuid = subordinate(facts.subuid, facts);
  const subgid = subordinate(facts.subgid, facts);
  if (!hasOneId && facts.hasNewuidmap && subuid !== null && subgid !== null) {
    return {
      kind: "subordinate",
      uids: [{ inside: 0, outside: uid, count: 1 }, { inside: 1, ...subuid }],
      gids: [{ inside: 0, outside: gid, count: 1 }, { inside: 1, ...subgid }],
    };
  }
  return {
    kind: "single",
    uids: [{ inside: 0, outside: uid, count: 1 }],
    gids: [{ inside: 0, outside: gid, count: 1 }],
  };
}

/** Gives the same extents within the namespace below: a map may not span two of its parent's. */
export function nestedExtents(extents: readonly IdExtent[], asId = 0): IdExtent[] {
  if (extents.length === 1 && extents[0]!.count === 1) {
    return [{ inside: asId, outside: 0, count: 1 }];
  }
  return extents.map(({ inside, count }) => ({ inside, outside: inside, count }));
}

/** Writes extents as `/proc/PID/uid_map` takes them. */
export function toMapText(extents: readonly IdExtent[]): string {
  return extents.map(({ inside, outside, count }) => `${inside} ${outside} ${count}\n`).join("");
}

/** Says whether an id inside stands for one outside. */
export function isMapped(extents: readonly IdExtent[], id: number): boolean {
  return extents.some(({ inside, count }) => id >= inside && id < inside + count);
}

/** Reads `/proc/self/uid_map`. */
export function parseMap(text: string): IdExtent[] {
  return text.trim().split("\n").filter((line) => line !== "").map((line) => {
    const [inside = 0, outside = 0, count = 0] = line.trim().split(/\s+/).map(Number);
    return { inside, outside, count };
  });
}

/** In a container of few ids, the upper half of its largest run serves. */
function rootRange(own: readonly IdExtent[]): IdExtent {
  const fits = own.some((it) =>
    it.inside <= ROOT_BASE && it.inside + it.count >= ROOT_BASE + ROOT_COUNT
  );
  if (fits) return { inside: 0, outside: ROOT_BASE, count: ROOT_COUNT };
  const largest = own.reduce((a, b) => (b.count > a.count ? b : a));
  const half = Math.max(1, Math.floor(largest.count / 2));
  const count = Math.min(half, ROOT_COUNT);
  return { inside: 0, outside: largest.inside + largest.count - count, count };
}

function subordinate(
  text: string,
  { uid, userName }: IdentityFacts,
): { readonly outside: number; readonly count: number } | null {
  const extents = text.split("\n").map((line) => line.split(":"))
    .filter(([name]) => name === String(uid) || (userName !== null && name === userName))
    .map(([, start, count]) => ({ outside: Number(start), count: Number(count) }))
    .filter(({ outside, count }) => outside > 0 && count > 0);
  if (extents.length === 0) return null;
  const largest = extents.reduce((a, b) => (b.count > a.count ? b : a));
  return { ...largest, count: Math.min(largest.count, ROOT_COUNT) };
}
