/** Writes the id maps of the holder: by ourselves, or through newuidmap(1). */
import { HostError, messageOf } from "../errors.ts";
import { type Identity, type IdExtent, toMapText } from "./identity.ts";

/**
 * Maps the ids of the holder's user namespace.
 *
 * @throws {HostError} If the kernel or newuidmap refuses.
 */
export function writeHolderMaps(pid: number, { kind, uids, gids }: Identity): void {
  if (kind === "subordinate") {
    runMapper("newuidmap", pid, uids);
    runMapper("newgidmap", pid, gids);
    return;
  }
  try {
    if (kind === "single") Deno.writeTextFileSync(`/proc/${pid}/setgroups`, "deny");
    Deno.writeTextFileSync(`/proc/${pid}/uid_map`, toMapText(uids));
    Deno.writeTextFileSync(`/proc/${pid}/gid_map`, toMapText(gids));
  } catch (error) {
    throw new HostError(`Cannot map ids into a user namespace: ${messageOf(error)}`, {
      cause: error,
      remedy: "A security module may forbid it; see minisandbox doctor.",
    });
  }
}

function runMapper(program: "newuidmap" | "newgidmap", pid: number, extents: readonly IdExtent[]) {
  const args = extents.flatMap(({ inside, outside, count }) => [inside, outside, count]);
  const { success, stderr } = new Deno.Command(program, {
    args: [pid, ...args].map(String),
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).outputSync();
  if (success) return;
  const file = program === "newuidmap" ? "/etc/subuid" : "/etc/subgid";
  throw new HostError(
    `Cannot map subordinate ids: ${program}: ${new TextDecoder().decode(stderr).trim()}`,
    { remedy: `Check the entry of this user in ${file}, or remove it to go without.` },
  );
}
