/** What a worker that compares trees does: it reads what programs wrote, and is not trusted with more. */
import { findDifferences, patchOf, PatchTooLarge } from "../diff/mod.ts";
import { report, tell } from "./worker.ts";
import type { WorkerMessage } from "./worker_message.ts";

/** What `__diff` is told. Paths are text of one character a byte. */
export interface DiffWork {
  readonly before: string;
  readonly after: string;
  readonly written: readonly { readonly dir: string; readonly at: string }[] | null;
  readonly root: string;
  /** What is told of, beneath the root; null for all. */
  readonly paths: readonly string[] | null;
  /** What is not: a path beneath the root, or with no slash a name, in which `*` stands for any text. */
  readonly exclude: readonly string[];
  readonly hasPatch: boolean;
  readonly mostChanges: number;
  readonly mostPatchBytes: number;
}

/** Tells of changes on stderr, writes the patch to stdout, and gives the exit code. */
export async function diffStdout(work: DiffWork): Promise<number> {
  const say = (message: WorkerMessage) => tell(message, Deno.stderr);
  return await report(() => {
    const { paths, hasPatch } = work;
    const isLeftOut = exclusion(work.exclude);
    const isWanted = (path: string, isDirectory: boolean) =>
      !isLeftOut(path) &&
      (paths === null || paths.some((it) => isIn(path, it) || (isDirectory && isIn(it, path))));
    let changes = 0;
    let left = work.mostPatchBytes;
    for (const difference of findDifferences({ ...work, isWanted })) {
      const { change } = difference;
      if (paths !== null && !paths.some((it) => isIn(change.path, it))) continue;
      if (++changes > work.mostChanges) {
        say({ isCut: true });
        break;
      }
      say({ change });
      if (!hasPatch) continue;
      const patch = patchWithin(difference, left);
      if (patch === null) {
        say({ isCut: true });
        continue;
      }
      left -= patch.length;
      write(patch);
    }
    return Promise.resolve();
  }, say);
}

/** Null where it would be longer than may be. */
function patchWithin(
  difference: Parameters<typeof patchOf>[0],
  mostBytes: number,
): Uint8Array | null {
  try {
    const patch = patchOf(difference, mostBytes);
    if (patch.length > mostBytes) return null;
    return Uint8Array.from(patch, (character) => character.charCodeAt(0));
  } catch (error) {
    if (!(error instanceof PatchTooLarge)) throw error;
    return null;
  }
}

/** A part of it would be no patch. */
function write(bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length;) at += Deno.stdout.writeSync(bytes.subarray(at));
}

function isIn(path: string, directory: string): boolean {
  return directory === "" || path === directory || path.startsWith(`${directory}/`);
}

function exclusion(patterns: readonly string[]): (path: string) => boolean {
  const paths = patterns.filter((it) => it.includes("/")).map((it) => it.replace(/^\/|\/$/g, ""));
  const names = patterns.filter((it) => !it.includes("/")).map(toPattern);
  return (path) => {
    const name = path.slice(path.lastIndexOf("/") + 1);
    return paths.some((it) => isIn(path, it)) || names.some((it) => it.test(name));
  };
}

function toPattern(name: string): RegExp {
  const parts = name.split("*").map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  return new RegExp(`^${parts.join("[^]*")}$`);
}
