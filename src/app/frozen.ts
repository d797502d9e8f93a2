/** Use case: what a sandbox had written at one moment, as one more layer of others. */
import { UsageError } from "../errors.ts";
import {
  countLowers,
  type Layout,
  type Lower,
  MAX_LOWERS,
  type Part,
  type Sandbox,
  type ShownUser,
} from "../sandbox/mod.ts";
import type { Copier } from "./copier.ts";
import { copyTop, isPlainTop, onDisk } from "./layout.ts";
import type { Node } from "./node.ts";
import type { Place } from "./prepare.ts";
import type { SandboxSpec } from "./spec.ts";

/** A copy of what a sandbox wrote; it is removed when its last user has let it go. */
export class Frozen {
  /** Its directory: what was written in part N of the layout lies in `N`. */
  readonly dir: string;
  /** Says for each part whether anything was. */
  readonly isWritten: readonly boolean[];
  readonly bytes: number;
  readonly #remove: () => Promise<void>;
  #users = 1;

  constructor(
    dir: string,
    copied: readonly { readonly entries: number; readonly bytes: number }[],
    remove: () => Promise<void>,
  ) {
    this.dir = dir;
    this.isWritten = copied.map(({ entries }) => entries > 0);
    this.bytes = copied.reduce((sum, { bytes }) => sum + bytes, 0);
    this.#remove = remove;
  }

  /** Holds it once more. */
  share(): this {
    this.#users++;
    return this;
  }

  /** Lets it go once. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (--this.#users === 0) await this.#remove();
  }
}

/** A sandbox of which a copy is made. */
export interface Original {
  readonly sandbox: Sandbox;
  readonly layout: Layout;
  readonly spec: SandboxSpec;
}

/**
 * Copies what a sandbox has written; its programs are stopped meanwhile.
 *
 * @param stops False to refuse where any program runs.
 * @throws {UsageError} If a program runs and may not be stopped, or what is written lies in memory.
 * @throws {SetupError | HostError} If one cannot be stopped, or it cannot be copied.
 */
export async function freezeUpper(
  { store }: Node,
  copier: Copier,
  { sandbox, layout, spec }: Original,
  stops: boolean,
): Promise<Frozen> {
  const { upper, parts } = layout;
  if (upper.kind !== "disk") {
    throw new UsageError("Cannot copy what the sandbox writes: it lies in memory", {
      remedy: "Make the sandbox without an upper of kind tmpfs.",
    });
  }
  if (!stops && sandbox.hasPrograms()) {
    throw new UsageError("Cannot copy what the sandbox writes: programs run in it", {
      remedy: "Let freeze stop them meanwhile, or end them first.",
    });
  }
  await using held = new AsyncDisposableStack();
  const work = held.use(await store.openRun(spec.upper.kind === "disk" ? spec.upper.dir : null));
  makeParts(work.dir, parts);
  const pairs = parts.map((_, i) => [`${upper.dir}/upper/${i}`, `${work.dir}/${i}`] as const);
  const thaw = await sandbox.freeze();
  let copied;
  try {
    copied = await copier.copy(work.dir, pairs);
  } finally {
    thaw();
  }
  const kept = held.move();
  return new Frozen(work.dir, copied, () => kept.disposeAsync());
}

/** The mode becomes that of what is copied. */
function makeParts(dir: string, parts: readonly Part[]): void {
  for (const i of parts.keys()) Deno.mkdirSync(`${dir}/${i}`, { mode: 0o700 });
}

/** A place whose lowers are copies of other sandboxes' uppers, too. */
export interface ForkPlace extends Place {
  /** They are held; the topmost last. */
  readonly frozen: readonly Frozen[];
}

/**
 * Makes the place of a sandbox that begins with what another had written.
 *
 * @param frozen All copies that lie above the layers, the topmost last: held once each from now on.
 * @throws {UsageError | HostError} If it cannot be made.
 */
export async function openForkPlace(
  node: Node,
  { layout, spec, user }: Pick<Original, "layout" | "spec"> & { readonly user: ShownUser },
  frozen: readonly Frozen[],
): Promise<ForkPlace> {
  await using opened = new AsyncDisposableStack();
  for (const it of frozen) opened.use(it.share());
  const top = frozen.at(-1)!;
  const parts = layout.parts.map((part, i): Part => {
    const lower: Lower = { path: `${top.dir}/${i}`, isIdMapped: false };
    return top.isWritten[i] ? { ...part, lowers: [lower, ...part.lowers] } : part;
  });
  if (countLowers(parts) > MAX_LOWERS) {
    throw new UsageError(`Cannot fork: the sandbox has more than ${MAX_LOWERS} layers then`, {
      remedy: "Make a snapshot, and a sandbox from that.",
    });
  }
  const parent = spec.upper.kind === "disk" ? spec.upper.dir : null;
  const { identity } = node.host;
  const isPlain = (i: number) => !top.isWritten[i] && isPlainTop(`${top.dir}/${i}`, identity);
  const isUsual = parts.every((_, i) => i === 0 || isPlain(i)); // a hull has all but the root
  const wish = { layout: onDisk({ ...layout, parts }, ""), user, dir: parent, isUsual };
  const berth = opened.use(await node.places.take(wish));
  const { dir, lockFd } = berth.work!;
  for (const i of parts.keys()) copyTop(`${top.dir}/${i}`, `${dir}/upper/${i}`, identity);
  const kept = opened.move();
  return {
    layout: onDisk(wish.layout, dir),
    lockFd,
    hull: berth.hull,
    frozen,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
