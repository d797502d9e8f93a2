/** The smallest sandbox: a whole one, but with nothing in it that could be executed. */
import {
  giveTree,
  type Layout,
  type Lower,
  makeSite,
  NO_LIMITS,
  type Sandbox,
} from "../../sandbox/mod.ts";
import { makeUpper } from "../layout.ts";
import type { UpperSpec } from "../spec.ts";
import type { Subject } from "./subject.ts";

/**
 * Builds a small sandbox, uses it, and leaves nothing behind.
 *
 * @param wish Where it writes, and what lies below its root.
 * @throws {MinisandboxError} If a step is refused.
 */
export async function withSmallSandbox(
  { engine, store, host }: Subject,
  wish: { readonly upper: UpperSpec; readonly lowers?: readonly Lower[] },
  use: (sandbox: Sandbox) => void = () => {},
): Promise<void> {
  const { upper, lowers = [] } = wish;
  const { kind, uids, gids } = host.identity;
  await using place = await store.openRun(null);
  const site = `${place.dir}/site`;
  Deno.mkdirSync(site);
  makeSite(site, { hostname: "doctor", resolvConf: "", gitconfig: null });
  if (kind === "root") giveTree(site, uids[0]!.outside, gids[0]!.outside);
  const parts = [{ target: "/", lowers: [{ path: site, isIdMapped: false }, ...lowers] }];

  const dir = upper.kind === "disk" ? upper.dir : null;
  await using elsewhere = dir === null ? null : await store.openRun(dir);
  const upperDir = (elsewhere ?? place).dir;
  if (upper.kind === "disk") makeUpper(upperDir, parts.length, host.identity);
  const layout: Layout = {
    parts,
    upper: upper.kind === "disk" ? { kind: "disk", dir: upperDir } : { ...upper, inodes: null },
    binds: [],
    network: "none",
    hostname: "doctor",
    limits: NO_LIMITS,
  };
  const sandbox = await engine.create(layout, { uid: 0, gid: 0 });
  try {
    use(sandbox);
  } finally {
    await sandbox.close();
  }
}
