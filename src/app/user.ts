/** The user that a command runs as, looked up inside. */
import { HostError, UsageError } from "../errors.ts";
import { generatedEtc, type Host, type IdExtent, isMapped } from "../sandbox/mod.ts";

/** A user inside. */
export interface User {
  readonly uid: number;
  readonly gid: number;
  /** Groups beside `gid`. */
  readonly groups: readonly number[];
  readonly home: string;
}

/** Reads a file of a root, such as `etc/passwd`; null if it is not there. */
export type ReadRootFile = (path: string) => string | null;

/**
 * Looks a user up by name or id in the passwd and group files of a root.
 *
 * @param root Reads the root's files; null for a base host, whose files are always the same.
 * @throws {UsageError} If there is no such name.
 * @throws {HostError} If the id does not exist for this caller.
 */
export function findUser(
  root: ReadRootFile | null,
  wanted: string | number,
  host: Host,
): User {
  const user = lookUp(root, wanted);
  const { identity } = host;
  const isHeld = identity.kind === "single" ||
    (isMapped(identity.uids, user.uid) && isMapped(identity.gids, user.gid));
  if (isHeld) return user;
  const count = Math.min(...[identity.uids, identity.gids].map(countIds));
  throw new HostError(`Cannot run as user ${user.uid}: a sandbox has only ${count} ids here`, {
    remedy: `Give --user an id below ${count}.`,
  });
}

function countIds(extents: readonly IdExtent[]): number {
  return extents.reduce((sum, { count }) => sum + count, 0);
}

function lookUp(root: ReadRootFile | null, wanted: string | number): User {
  if (wanted === 0 || wanted === "root") return { uid: 0, gid: 0, groups: [], home: "/root" };
  const rows = readRows(root, "etc/passwd");
  const isId = typeof wanted === "number" || /^\d+$/.test(wanted);
  const row = rows.find(([name, , uid]) => isId ? Number(uid) === Number(wanted) : name === wanted);
  if (row === undefined) {
    if (isId) return { uid: Number(wanted), gid: Number(wanted), groups: [], home: "/" };
    throw new UsageError(`Cannot run as user "${wanted}": there is no such user inside`, {
      remedy: "Give --user a name of the sandbox's /etc/passwd, or an id.",
    });
  }
  const [name = "", , uid, gid, , home] = row;
  const groups = readRows(root, "etc/group")
    .filter(([, , , members]) => members?.split(",").includes(name))
    .map(([, , id]) => Number(id));
  return { uid: Number(uid), gid: Number(gid), groups, home: home || "/" };
}

function readRows(root: ReadRootFile | null, path: "etc/passwd" | "etc/group"): string[][] {
  const text = root === null ? generatedEtc()[path.slice("etc/".length)]! : root(path) ?? "";
  return text.split("\n").filter((line) => line !== "").map((line) => line.split(":"));
}
