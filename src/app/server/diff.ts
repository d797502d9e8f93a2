/** What programs changed in a sandbox, found by a worker that sees it before and after. */
import { concat } from "@std/bytes/concat";
import type { Change } from "../../diff/mod.ts";
import { bind } from "../worker_base.ts";
import type { DiffWork } from "../diff_worker.ts";
import type { Node } from "../node.ts";
import type { LiveSandbox } from "./live_sandbox.ts";

const BEFORE = "/before";
const AFTER = "/after";

/** What is wanted. */
export interface DiffWish
  extends Pick<DiffWork, "paths" | "exclude" | "hasPatch" | "mostChanges" | "mostPatchBytes"> {
  /** The directory that is compared, an absolute path. */
  readonly root: string;
  readonly signal: AbortSignal;
}

/** What was found. */
export interface Diff {
  readonly changes: readonly Change[];
  readonly patch: Uint8Array;
  /** Whether something was left out for its length or number. */
  readonly isCut: boolean;
}

/**
 * Compares a sandbox with what it was made of: its layers alone, not what it was forked off. Where it
 * writes to disk, only what was written is looked at.
 *
 * @throws {MinisandboxError} If something cannot be read.
 */
export async function diffSandbox(
  { worker, ground }: Node,
  { parts: { sandbox, place, frozen } }: LiveSandbox,
  { root, signal, ...wish }: DiffWish,
): Promise<Diff> {
  const { parts, upper } = place.layout;
  const copies = new Set(frozen.map(({ dir }) => dir));
  const isCopy = (path: string) => copies.has(path.slice(0, path.lastIndexOf("/")));
  const at = parts.map(({ target }) => target === "/" ? "" : target.slice(1));
  const uppers = upper.kind === "disk"
    ? [`${upper.dir}/upper`, ...frozen.map(({ dir }) => dir)]
    : null;
  const written =
    uppers?.flatMap((dir, i) =>
      at.map((at, j) => ({ host: `${dir}/${j}`, dir: `/written/${i}/${j}`, at }))
    ) ?? null;

  using held = new DisposableStack();
  const after = [];
  for (const { target } of parts) {
    const mount = held.use(await sandbox.files.copyMount(target, "compare"));
    const shown = target === "/" ? AFTER : AFTER + target;
    after.push({ ...bind(target, shown), mount: mount.fd });
  }
  const tree = await ground.trees("compared", "1", (dir) => Deno.mkdirSync(dir + BEFORE));
  const work: DiffWork = {
    ...wish,
    before: BEFORE,
    after: AFTER,
    written: written?.map(({ dir, at }) => ({ dir, at })) ?? null,
    root: root.split("/").filter((name) => name !== "").join("/"),
  };
  const changes: Change[] = [];
  const patch: Uint8Array[] = [];
  let isCut = false;
  await worker.work({
    args: ["__diff", JSON.stringify(work)],
    binds: [...after, ...written?.map(({ host, dir }) => bind(host, dir)) ?? []],
    parts: {
      tree,
      parts: parts.map(({ target, lowers }) => ({
        target: target === "/" ? BEFORE : BEFORE + target,
        lowers: lowers.filter(({ path }) => !isCopy(path)),
      })),
    },
    signal,
    onOutput: (bytes) => {
      patch.push(bytes.slice());
      return Promise.resolve();
    },
    onMessage: (message) => {
      if ("change" in message) changes.push(message.change);
      if ("isCut" in message) isCut = true;
    },
  });
  return { changes, patch: concat(patch), isCut };
}
