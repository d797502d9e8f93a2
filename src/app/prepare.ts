/** Use case: what sandboxes of one spec share, made once, and what each has for itself. */
import { HostError } from "../errors.ts";
import { type Hull, type Layout, probeMemoryXattr } from "../sandbox/mod.ts";
import type { Layer } from "../store/mod.ts";
import { type HeldBase, openBase } from "./named_base.ts";
import { ensureLayers, findLayers, type LayerEvent } from "./layer.ts";
import { joinLayout, onDisk } from "./layout.ts";
import type { Node } from "./node.ts";
import type { Phases } from "./outcome.ts";
import type { SandboxSpec } from "./spec.ts";
import { openKept } from "./snapshot.ts";
import { findUser, type User } from "./user.ts";

/** What the caller decides, and hears of meanwhile. */
export interface PrepareOptions {
  /** Gets "base" and "unpack". */
  readonly phases: Phases;
  readonly signal: AbortSignal;
  readonly onLayer?: (event: LayerEvent) => void;
  readonly onNote?: (text: string) => void;
}

/** What all sandboxes of a spec share; layers are held until it is disposed of. */
export interface Prepared extends Disposable {
  readonly base: HeldBase;
  readonly user: User;
  readonly layers: readonly Layer[];
}

/**
 * Prepares the base and the layers of a spec.
 *
 * @throws {MinisandboxError} If one cannot be had; nothing is held then.
 */
export async function prepare(
  node: Node,
  spec: SandboxSpec,
  { phases, signal, onLayer, onNote }: PrepareOptions,
): Promise<Prepared> {
  const { host, store, idmap, setuid, unpack, budget } = node;
  using held = new DisposableStack();
  const base = held.use(await openBase(node, spec, onNote));
  const user = findUser(base.users, spec.user, host);
  phases.end("base");

  const wishes = spec.layers;
  const common = { idmap, setuid, unpack, budget, signal };
  const options = onLayer === undefined ? common : { ...common, onEvent: onLayer };
  const layers = findLayers(store, wishes, options) ?? await ensureLayers(store, wishes, options);
  for (const layer of layers) held.use(layer);
  for (const name of spec.from) {
    for (const layer of await openKept(store, name, options)) layers.push(held.use(layer));
  }
  phases.end("unpack");
  const kept = held.move();
  return { base, user, layers, [Symbol.dispose]: () => kept.dispose() };
}

/** Without them an overlay cannot make a directory again that it has removed. */
function mustHoldAttributes(): void {
  const answer = probeMemoryXattr();
  if (answer === null) return;
  throw new HostError(
    `Cannot keep what the sandbox writes in memory: tmpfs holds no attributes of users: ${answer}`,
    { remedy: "It needs Linux 6.6 or newer: leave --upper tmpfs away." },
  );
}

/** What one sandbox is built from; its own directories are removed with it. */
export interface Place extends AsyncDisposable {
  readonly layout: Layout;
  /** The descriptor of its lock; null where it has no directories. */
  readonly lockFd: number | null;
  /** What was ready for it. */
  readonly hull: Hull | null;
}

/**
 * Makes the directories of one sandbox, where it writes to disk.
 *
 * @throws {HostError} If overlayfs could not use them.
 */
export async function openPlace(
  node: Node,
  spec: SandboxSpec,
  { base, layers, user }: Prepared,
): Promise<Place> {
  await using opened = new AsyncDisposableStack();
  if (spec.upper.kind === "tmpfs") mustHoldAttributes();
  const draft = joinLayout(spec, base, layers, "");
  const dir = spec.upper.kind === "disk" ? spec.upper.dir : null;
  const wish = { layout: draft, user, dir, isUsual: true };
  const { work, hull } = opened.use(await node.places.take(wish));
  const layout = work === null ? draft : onDisk(draft, work.dir);
  const kept = opened.move();
  return {
    layout,
    lockFd: work?.lockFd ?? null,
    hull,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
